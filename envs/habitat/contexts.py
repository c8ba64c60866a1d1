"""A context is a scene and a start position in it, encoded as start * 1,000 + scene."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, Final

import numpy as np

from bonuslab.envs.contexts import SET_STREAM, ContextCount, ContextSampler, parse_count
from bonuslab.envs.errors import InvalidInput, check_integer, unknown
from bonuslab.envs.habitat.simulator import Scenes

MAX_SCENES: Final = 1000
_SPREAD: Final = 0.2
"""How far, relative to `scene_steps`, the steps in a scene vary, so that envs do not change scenes together."""


def context_id(scene: int, start: int) -> int:
    """Encode a scene and a start."""
    return start * MAX_SCENES + scene


def scene_and_start(context: int) -> tuple[int, int]:
    """The inverse of `context_id`."""
    return context % MAX_SCENES, context // MAX_SCENES


def check_context(context: object, scenes: Scenes) -> int:
    """`context` as an int; rejects unknown scenes and starts."""
    if isinstance(context, int | np.integer) and not isinstance(context, bool) and context >= 0:
        scene, start = scene_and_start(int(context))
        if any(scene in scenes.split(name) for name in scenes.splits) and start < scenes.num_starts(scene):
            return int(context)
    raise InvalidInput(f"context id {context!r} cannot be used; allowed: start * {MAX_SCENES} + scene of {scenes.name}")


def choose_split(scenes: Scenes, held_out: bool, split: str | None) -> str:
    """`split`, or by default the one for training or evaluation."""
    name = split or ("val" if held_out else "train")
    if name not in scenes.splits:
        raise unknown(f"split of {scenes.name}", name, scenes.splits)
    return name


def choose_scene_steps(steps: int | None, scenes: Scenes, held_out: bool) -> int:
    """`steps`, or the back end's own; an evaluation should see many scenes, so there it is a new one every episode."""
    if steps is not None:
        return check_integer("scene_steps", steps, 0)
    return 0 if held_out else scenes.scene_steps


class HabitatContexts(ContextSampler):
    """Samples scenes and starts.

    A finite set repeats a scene only once every scene has been used. Held-out contexts are in scenes that training
    never visits. With `scene_steps`, episodes stay in a scene for about so many steps, since loading the next one takes
    seconds; every context remains equally frequent in the long run.
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
        scene_steps: int = 0,
    ) -> None:
        number = parse_count(count)
        split = choose_split(scenes, held_out, split)
        self._scenes, self._numbers = scenes, scenes.split(split)
        ids = None if number is None else _draw_set(scenes, split, number, check_integer("seed", seed, 0))
        self._scene_steps = check_integer("scene_steps", scene_steps, 0)
        self._scene, self._left = -1, 0.0  # the scene to stay in, and for how many steps
        super().__init__(ids, seed, stream, split=split)

    def reseed(self, seed: int) -> None:
        """Restart the order of draws, with a new scene."""
        super().reseed(seed)
        self.leave_scene()

    def spend(self, steps: int) -> None:
        """Count the steps of an episode that has ended."""
        self._left -= steps

    def leave_scene(self) -> None:
        """Let the next draw choose a scene."""
        self._left = 0.0

    def draw(self) -> int:
        """The context of the next episode."""
        if self._left <= 0:
            context = super().draw()
            self._scene = scene_and_start(context)[0]
            if self._scene_steps:
                self._left = self._scene_steps * float(self._random.uniform(1 - _SPREAD, 1 + _SPREAD))
            return context
        if self.ids is None:
            return self._draw_start(self._scene)
        here = [context for context in self.ids if scene_and_start(context)[0] == self._scene]
        return here[int(self._random.integers(len(here)))]

    def get_state(self) -> dict[str, Any]:
        """Also the scene."""
        return {**super().get_state(), "scene": self._scene, "left": self._left}

    def set_state(self, state: dict[str, Any]) -> None:
        """Resume from `get_state`."""
        super().set_state(state)
        self._scene, self._left = state.get("scene", -1), state.get("left", 0.0)

    def _draw_any(self) -> int:
        return self._draw_start(self._numbers[int(self._random.integers(len(self._numbers)))])

    def _draw_start(self, scene: int) -> int:
        return context_id(scene, int(self._random.integers(self._scenes.num_starts(scene))))


@lru_cache(maxsize=16)
def _draw_set(scenes: Scenes, split: str, count: int, seed: int) -> tuple[int, ...]:
    """`count` distinct contexts, in the order drawn: 3 contexts are the first 3 of 5."""
    random = np.random.Generator(np.random.PCG64([SET_STREAM, seed]))
    order = random.permutation(scenes.split(split)).tolist()
    drawn: dict[int, None] = {}
    rounds = 0
    while len(drawn) < count:
        unused = (scene for scene in order if scenes.num_starts(scene) > rounds)  # lazy: HM3D reads a file per scene
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
