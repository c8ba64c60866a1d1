"""Which contexts a run meets. A context is a scene and a start in it, as one number: start times 1,000 plus scene."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, Final

import numpy as np

from bonuslab.envs.errors import InvalidInput, unknown
from bonuslab.envs.habitat.simulator import Scenes

ContextCount = int | str | None
"""1, 3, 100, ... contexts, also as text; None or "inf" for any start in any scene."""

MOST_SCENES: Final = 1000
_MOST_CONTEXTS: Final = 1_000_000
_FOR_THE_SET, _FOR_THE_DRAWS = 0, 1  # the two random streams must not coincide whatever seeds are given


def context_id(scene: int, start: int) -> int:
    """The context of a scene and a start."""
    return start * MOST_SCENES + scene


def scene_and_start(context: int) -> tuple[int, int]:
    """The inverse of `context_id`."""
    return context % MOST_SCENES, context // MOST_SCENES


def check_context(context: object, scenes: Scenes) -> int:
    """`context` as an int, if there are such a scene and start."""
    if isinstance(context, int | np.integer) and not isinstance(context, bool) and context >= 0:
        scene, start = scene_and_start(int(context))
        if any(scene in scenes.split(name) for name in scenes.splits) and start < scenes.num_starts(scene):
            return int(context)
    raise InvalidInput(
        f"context id {context!r} cannot be used; allowed: start * {MOST_SCENES} + scene of {scenes.name}"
    )


def parse_count(count: ContextCount) -> int | None:
    """The number of contexts, None for all there are."""
    text = "inf" if count is None else str(count).strip().lower()
    if text == "inf":
        return None
    if isinstance(count, bool) or not text.isascii() or not text.isdigit() or not 1 <= int(text) <= _MOST_CONTEXTS:
        raise InvalidInput(f"contexts {count!r} cannot be used; allowed: 1 to {_MOST_CONTEXTS:,}, or inf")
    return int(text)


def choose_split(scenes: Scenes, held_out: bool, split: str | None) -> str:
    """The split that is played: `split`, or the one for training, or the one for evaluation."""
    name = split or ("val" if held_out else "train")
    if name not in scenes.splits:
        raise unknown(f"split of {scenes.name}", name, scenes.splits)
    return name


class Contexts:
    """Draws the context of each episode.

    A finite set depends on `seed` alone, so all runners of a run share it, and takes a scene twice only when it has
    taken all once. The order in which it is met depends on `stream` too. Held-out contexts are in scenes that training
    never meets.
    """

    def __init__(
        self,
        scenes: Scenes,
        count: ContextCount = None,
        seed: int = 0,
        *,
        held_out: bool = False,
        split: str | None = None,
        stream: int | Sequence[int] = 0,
    ) -> None:
        self.count = parse_count(count)
        self.seed = _check_seed("seed", seed)
        self.split = choose_split(scenes, held_out, split)
        numbers = (stream,) if isinstance(stream, int | np.integer) else tuple(stream)
        self.stream = tuple(_check_seed("stream", number) for number in numbers)
        self._scenes, self._numbers = scenes, scenes.split(self.split)
        self.ids = None if self.count is None else _draw_set(scenes, self.split, self.count, self.seed)
        self.reseed(self.seed)

    def reseed(self, seed: int) -> None:
        """Restart the order of draws from `seed`. The set of finitely many contexts stays what it is."""
        key = [_FOR_THE_DRAWS, _check_seed("seed", seed), *self.stream]
        self._random = np.random.Generator(np.random.PCG64(key))

    def draw(self) -> int:
        """The context of the next episode."""
        if self.ids is not None:
            return self.ids[int(self._random.integers(len(self.ids)))]
        scene = self._numbers[int(self._random.integers(len(self._numbers)))]
        return context_id(scene, int(self._random.integers(self._scenes.num_starts(scene))))

    def get_state(self) -> dict[str, Any]:
        """What `set_state` needs to go on with the same draws; can be pickled."""
        return {"ids": self.ids, "split": self.split, "random": self._random.bit_generator.state}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on where `get_state` was called."""
        if (state["ids"], state["split"]) != (self.ids, self.split):
            raise InvalidInput("this state belongs to other contexts: its count, split or seed differs")
        self._random.bit_generator.state = state["random"]


@lru_cache(maxsize=16)
def _draw_set(scenes: Scenes, split: str, count: int, seed: int) -> tuple[int, ...]:
    """So many different contexts, in the order drawn: 3 contexts are the first 3 of 5."""
    random = np.random.Generator(np.random.PCG64([_FOR_THE_SET, seed]))
    order = random.permutation(scenes.split(split)).tolist()
    drawn: dict[int, None] = {}
    rounds = 0
    while len(drawn) < count:
        unused = (scene for scene in order if scenes.num_starts(scene) > rounds)  # lazily: HM3D reads a file for each
        usable = list(islice(unused, count - len(drawn)))
        if not usable:
            raise InvalidInput(f"contexts {count} cannot be used; the {split} split of {scenes.name} has {len(drawn)}")
        for scene in usable:
            context = context_id(scene, int(random.integers(scenes.num_starts(scene))))
            while context in drawn:
                context = context_id(scene, int(random.integers(scenes.num_starts(scene))))
            drawn[context] = None
        rounds += 1
    return tuple(drawn)


def _check_seed(name: str, seed: object) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or int(seed) < 0:
        raise InvalidInput(f"{name} {seed!r} cannot be used; allowed: whole numbers from 0")
    return int(seed)
