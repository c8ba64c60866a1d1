"""One episode after another in one game: rewards, endings, and the KeyRoom's APPLY."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, Literal

import numpy as np
from nle import nethack

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.minihack.game import TIME, Game
from bonuslab.envs.minihack.levels import Level
from bonuslab.envs.minihack.randomness import Purpose, context_seed
from bonuslab.envs.minihack.tasks import Task

EndStatus = Literal["running", "won", "died", "step_limit", "aborted"]
"""`aborted`: the game stopped by itself without the agent's death, which no known level brings about."""

REWARD_WIN: Final = 1.0
PENALTY_STEP: Final = -0.01
"""MiniHack's: added on each step on which the game's time does not advance, such as a walk into a wall."""

_APPLY: Final = int(nethack.Command.APPLY)
_YES: Final = ord("y")
_CLOSED_DOORS: Final = (nethack.GLYPH_CMAP_OFF + 15, nethack.GLYPH_CMAP_OFF + 16)  # S_vcdoor, S_hcdoor
_KEY_NAME: Final = "skeleton key"
# The nine cells around the agent, row by row, and the key that moves there.
_DIRECTIONS: Final = "yku" + "h.l" + "bjn"
_MOST_PUSHES: Final = 1000


@lru_cache(maxsize=2048)
def _level(task: Task, context: int) -> Level:
    """Levels are kept, because a run with few contexts comes back to the same ones."""
    return task.levels.build(context)


class Episode:
    """Plays a task in one game. `begin` starts an episode on a context, `step` takes an action."""

    def __init__(
        self,
        task: Task,
        max_steps: int | None = None,
        buffers: Mapping[str, np.ndarray] | None = None,
        *,
        penalty_step: float | None = None,
    ) -> None:
        """Episodes of `task` that show what happens in `buffers` (arrays of their own if None)."""
        self.task = task
        self.max_steps = task.max_steps if max_steps is None else check_max_steps(max_steps)
        self.penalty_step = PENALTY_STEP if penalty_step is None else check_penalty_step(penalty_step)
        self.game = Game(
            task.character,
            autopickup=task.autopickup,
            answers_questions=task.answers_questions,
            inventory=task.applies_key,
            buffers=buffers,
        )
        self.observation = self.game.observation
        """The game's own arrays: they change with the next step."""
        self.context: int | None = None
        self.level: Level | None = None
        self.status: EndStatus = "aborted"
        self.total_reward = 0.0
        self._keys = task.actions
        self._winning_messages = task.winning_messages
        self._clock = self.game.blstats.data  # reading a number through it takes a third of the time numpy takes
        self._actions = bytearray()

    @property
    def length(self) -> int:
        """Steps taken so far."""
        return len(self._actions)

    def begin(self, context: int) -> None:
        """Start a new episode. The same context always gives the same episode for the same actions."""
        self.status = "aborted"  # until the game has started
        self.context = context
        self.level = _level(self.task, context)
        core, display = context_seed(context, Purpose.GAME_CORE), context_seed(context, Purpose.GAME_DISPLAY)
        self.game.start(self.level.lev, core, display)
        self._actions.clear()
        self.total_reward = 0.0
        self.status = "running"

    def step(self, action: int) -> float:
        """Take an action and return its reward; `status` then says whether and how the episode ended."""
        game = self.game
        key = self._keys[action]
        if key == _APPLY and self.task.applies_key:
            self._unlock_door()
        clock = self._clock
        time = clock[TIME]
        game.play(key)
        self._actions.append(action)
        reward = self.penalty_step if clock[TIME] == time else 0.0
        if self._judge():
            reward += REWARD_WIN
        self.total_reward += reward
        return reward

    def _judge(self) -> bool:
        """Set the status; whether the step earns the reward for winning.

        As in MiniHack: a step that reaches the limit cannot win, and a death overrules everything but the reward.
        """
        game = self.game
        over, at_limit = game.is_over, len(self._actions) >= self.max_steps
        messages = self._winning_messages
        if at_limit:
            won = False
        elif messages:
            won = self._shows(messages)
        else:
            won = game.on_stairs_down and not over
        if over:
            self.status = "died" if game.was_a_death else "aborted"
        elif at_limit:
            self.status = "step_limit"
        elif won:
            self.status = "won"
        return won

    def _shows(self, messages: tuple[bytes, ...]) -> bool:
        shown = self.game.message.tobytes()
        return any(message in shown for message in messages)

    def _unlock_door(self) -> None:
        """With the key and beside a closed door: unlock it and push until it is open."""
        letter, direction = self._key_letter(), self._direction_of_closed_door()
        if letter is None or direction is None:
            return
        for key in (_APPLY, letter, direction, _YES):
            self.game.press(key)
        self.game.settle()
        for _ in range(_MOST_PUSHES):  # MiniHack would push for ever
            if self.game.is_over:
                return
            self.game.play(direction)
            if self._direction_of_closed_door() is None:
                return

    def _key_letter(self) -> int | None:
        """The inventory letter of the key."""
        assert self.game.inventory is not None
        glyphs, letters = self.game.inventory
        places = np.flatnonzero(glyphs == _key_glyph())
        return int(letters[places[0]]) if len(places) else None

    def _direction_of_closed_door(self) -> int | None:
        """The key that moves towards the first closed door among the neighbours, row by row."""
        x, y = (int(value) for value in self.game.blstats[:2])
        glyphs = self.game.glyphs
        for index, direction in enumerate(_DIRECTIONS):
            column, row = x + index % 3 - 1, y + index // 3 - 1
            inside = 0 <= row < glyphs.shape[0] and 0 <= column < glyphs.shape[1]
            if inside and glyphs[row, column] in _CLOSED_DOORS:
                return ord(direction)
        return None

    def get_state(self) -> dict[str, Any] | None:
        """The episode as its context and actions (a running game cannot be stored); None before the first."""
        if self.context is None:
            return None
        return {"context": self.context, "actions": bytes(self._actions), "status": self.status}

    def set_state(self, state: dict[str, Any] | None) -> None:
        """Play again what `get_state` described; everything that follows is the same."""
        if state is None:
            return
        self.begin(state["context"])
        for action in state["actions"]:
            self.step(action)
        if self.status != state["status"]:
            raise RuntimeError(
                f"context {state['context']} of {self.task.name} played again is {self.status}, not {state['status']}"
            )

    def close(self) -> None:
        """Close the game."""
        self.game.close()


@lru_cache(maxsize=1)
def _key_glyph() -> int:
    names = (nethack.OBJ_NAME(nethack.objclass(index)) for index in range(nethack.NUM_OBJECTS))
    return nethack.GLYPH_OBJ_OFF + list(names).index(_KEY_NAME)


def check_max_steps(max_steps: object) -> int:
    """`max_steps` as a number of steps."""
    if isinstance(max_steps, bool) or not isinstance(max_steps, int | np.integer) or max_steps < 1:
        raise InvalidInput(f"max_steps {max_steps!r} cannot be used; allowed: whole numbers from 1")
    return int(max_steps)


def check_penalty_step(penalty: object) -> float:
    """`penalty` as the reward of a step that takes no time."""
    is_number = isinstance(penalty, int | float | np.number) and not isinstance(penalty, bool)
    if not is_number or not -1 <= float(penalty) <= 0:  # type: ignore[arg-type]
        raise InvalidInput(f"penalty_step {penalty!r} cannot be used; allowed: numbers from -1 to 0")
    return float(penalty)  # type: ignore[arg-type]
