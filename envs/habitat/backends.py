"""The two back ends, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bonuslab.envs.errors import InvalidInput, unknown
from bonuslab.envs.extras import required_by
from bonuslab.envs.habitat.simulator import Scenes


def find_scenes(backend: str | Scenes, **data: Any) -> Scenes:
    """The scenes of the back end named `backend`; `data` locates its files."""
    if not isinstance(backend, str):
        return backend
    name = backend.strip().lower()
    if name not in BACKENDS:
        raise unknown("Habitat back end", backend, BACKENDS)
    return BACKENDS[name](**data)


def _apartments(**data: Any) -> Scenes:
    with required_by("Apartments"):
        from bonuslab.envs.habitat.apartments.simulator import ApartmentScenes

    for setting in data:
        raise InvalidInput(f"environment setting {setting!r} is for HM3D, not for apartments")
    return ApartmentScenes()


def _hm3d(**data: Any) -> Scenes:
    from bonuslab.envs.habitat.hm3d.scenes import HM3DScenes

    for setting in data:
        if setting not in DATA_SETTINGS:
            raise unknown("environment setting", setting, DATA_SETTINGS)
    return HM3DScenes(**data)


DATA_SETTINGS = ("data_path", "gpu_device", "islands")
"""Settings of HM3D; see `hm3d.scenes.HM3DScenes`."""
BACKENDS: dict[str, Callable[..., Scenes]] = {"apartments": _apartments, "hm3d": _hm3d}
