"""Houses as a family of environments: `Apartments`, `Apartments-64`, ..., `HM3D`."""

from __future__ import annotations

from typing import Any

from bonuslab.envs.errors import InvalidInput, unknown
from bonuslab.envs.habitat.backends import DATA_SETTINGS, find_scenes
from bonuslab.envs.habitat.contexts import Contexts
from bonuslab.envs.habitat.lanes import HabitatLanes
from bonuslab.envs.habitat.spaces import check_size
from bonuslab.envs.lanes import Lanes

_SETTINGS = ("contexts", "seed", "held_out", "stream", "max_steps", "split", "stop_ends_episode", *DATA_SETTINGS)
_NAMES = {"apartments": ("Apartments", 128), "hm3d": ("HM3D", 256)}
"""Back end -> how it is written, and its image size where the name gives none: the paper's, or one for a CPU."""


class HabitatFamily:
    """A back end and an image size, in pixels, behind a dash; see `envs.family.Family`."""

    name = "habitat"

    def canonical_name(self, name: str) -> str:
        """`apartments` is `Apartments-128`, `hm3d` is `HM3D-256`."""
        backend, size = _parse(name)
        return f"{_NAMES[backend][0]}-{size}"

    def check_contexts(self, name: str, contexts: str) -> None:
        """Refuse a number of contexts that is not there; missing simulators and scenes are found out here, too."""
        Contexts(find_scenes(_parse(name)[0]), contexts)

    def make_lanes(self, name: str, num_lanes: int, **settings: Any) -> Lanes:
        """N agents; besides what every family understands, `max_steps`, `split`, `stop_ends_episode` and HM3D's."""
        for setting in settings:
            if setting not in _SETTINGS:
                raise unknown("environment setting", setting, _SETTINGS)
        backend, size = _parse(name)
        return HabitatLanes(backend, num_lanes, size=size, **settings)


def _parse(name: str) -> tuple[str, int]:
    """(back end, image size)."""
    backend, dash, digits = str(name).strip().lower().partition("-")
    known = [f"{written}-{size}" for written, _ in _NAMES.values() for size in (64, 128, 256)]
    if backend not in _NAMES or (dash and not (digits.isascii() and digits.isdigit())):
        raise unknown("environment", name, [*known, *(written for written, _ in _NAMES.values())])
    try:
        return backend, check_size(int(digits)) if dash else _NAMES[backend][1]
    except InvalidInput as error:
        raise InvalidInput(f"environment {name!r}: {error}") from None


FAMILY = HabitatFamily()
