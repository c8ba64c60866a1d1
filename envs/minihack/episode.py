"""The episodes of one game: rewards, endings, and KeyRoom's APPLY."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, Literal

import numpy as np
from nle import nethack

from bonuslab.envs.errors import InvalidInput, check_integer
from bonuslab.envs.minihack import glyphs as g
from bonuslab.envs.minihack.game import TIME, NetHackGame
from bonuslab.envs.minihack.levels import Level
from bonuslab.envs.minihack.randomness import Purpose, context_seed
from bonuslab.envs.minihack.tasks import Task
from bonuslab.envs.replayed_vector_env import RecordedActions

EndStatus = Literal["running", "won", "died", "step_limit", "shortened", "aborted"]
"""`aborted`: the game stopped without the agent's death; no known level causes this."""

REWARD_WIN: Final = 1.0
PENALTY_STEP: Final = -0.01
"""MiniHack's: added to the reward of a step that takes no game time, such as walking into a wall."""

_APPLY: Final = int(nethack.Command.APPLY)
_YES: Final = ord("y")
_CLOSED_DOORS: Final = tuple(g.STONE + index for index in g.CLOSED_DOORS)
# The key that moves to each of the nine cells around the agent, row by row.
_DIRECTIONS: Final = "yku" + "h.l" + "bjn"
_MAX_PUSHES: Final = 1000


@lru_cache(maxsize=2048)
def _level(task: Task, context: int) -> Level:
    """Cached, because a run with few contexts replays the same levels."""
    return task.levels.build(context)


class MiniHackEpisode(RecordedActions):
    """Plays the episodes of a task in one game. `begin` starts an episode on a context, `step` takes an action."""

    def __init__(
        self,
        task: Task,
        max_steps: int | None = None,
        buffers: Mapping[str, np.ndarray] | None = None,
        *,
        penalty_step: float | None = None,
    ) -> None:
        """Observations are written into `buffers`, or into new arrays if None."""
        self.task = task
        self.max_steps = task.max_steps if max_steps is None else check_integer("max_steps", max_steps, 1)
        self.penalty_step = PENALTY_STEP if penalty_step is None else check_penalty_step(penalty_step)
        self.game = NetHackGame(
            task.character,
            autopickup=task.autopickup,
            answers_questions=task.answers_questions,
            inventory=task.applies_key,
            buffers=buffers,
        )
        self.observation = self.game.observation
        """The game's own arrays; the next step overwrites them."""
        self.context: int | None = None
        self.level: Level | None = None
        self.status: EndStatus = "aborted"
        self.total_reward = 0.0
        self.limit = self.max_steps
        """The step limit of this episode, which may be shorter."""
        self._keys = task.actions
        self._winning_messages = task.winning_messages
        self._clock = self.game.blstats.data  # three times faster to read than the array
        self._actions = bytearray()

    def begin(self, context: int, limit: int | None = None) -> None:
        """Start an episode of at most `limit` steps; context and actions determine all of it."""
        self.limit = self.max_steps if limit is None else limit
        self.status = "aborted"  # until the game has started
        self.context = context
        self.level = _level(self.task, context)
        core, display = context_seed(context, Purpose.GAME_CORE), context_seed(context, Purpose.GAME_DISPLAY)
        self.game.start(self.level.lev, core, display)
        self._actions.clear()
        self.total_reward = 0.0
        self.status = "running"

    def step(self, action: int) -> float:
        """Take an action and return its reward; `status` then tells whether and how the episode ended."""
        game = self.game
        key = self._keys[action]
        if key == _APPLY and self.task.applies_key:
            self._unlock_door()
        clock = self._clock
        time = clock[TIME]
        game.play(key)
        self._actions.append(action)
        reward = self.penalty_step if clock[TIME] == time else 0.0
        if self._update_status():
            reward += REWARD_WIN
        self.total_reward += reward
        return reward

    def _update_status(self) -> bool:
        """Set the status and return whether the step earns the reward for winning.

        As in MiniHack, a step that reaches the limit cannot win, and a death overrides everything but the reward.
        """
        game = self.game
        over, at_limit = game.is_over, len(self._actions) >= self.limit
        messages = self._winning_messages
        if at_limit:
            won = False
        elif messages:
            won = self._shows(messages)
        else:
            won = game.on_stairs_down and not over
        if over:
            self.status = "died" if game.agent_died else "aborted"
        elif at_limit:
            self.status = "step_limit" if self.limit == self.max_steps else "shortened"
        elif won:
            self.status = "won"
        return won

    def _shows(self, messages: tuple[bytes, ...]) -> bool:
        shown = self.game.message.tobytes()
        return any(message in shown for message in messages)

    def _unlock_door(self) -> None:
        """With the key and next to a closed door: unlock it and push until it is open."""
        letter, direction = self._key_letter(), self._direction_of_closed_door()
        if letter is None or direction is None:
            return
        for key in (_APPLY, letter, direction, _YES):
            self.game.press(key)
        self.game.settle()
        for _ in range(_MAX_PUSHES):  # MiniHack has no limit
            if self.game.is_over:
                return
            self.game.play(direction)
            if self._direction_of_closed_door() is None:
                return

    def _key_letter(self) -> int | None:
        """The inventory letter of the key."""
        assert self.game.inventory is not None
        glyphs, letters = self.game.inventory
        places = np.flatnonzero(glyphs == g.object_glyph("skeleton key"))
        return int(letters[places[0]]) if len(places) else None

    def _direction_of_closed_door(self) -> int | None:
        """The key that moves towards the first closed door among the neighbouring cells."""
        x, y = (int(value) for value in self.game.blstats[:2])
        glyphs = self.game.glyphs
        for index, direction in enumerate(_DIRECTIONS):
            column, row = x + index % 3 - 1, y + index // 3 - 1
            inside = 0 <= row < glyphs.shape[0] and 0 <= column < glyphs.shape[1]
            if inside and glyphs[row, column] in _CLOSED_DOORS:
                return ord(direction)
        return None

    def set_state(self, state: dict[str, Any] | None) -> None:
        """Replay the episode up to where `get_state` was called."""
        if state is None:
            return
        self.begin(state["context"], state.get("limit"))
        for action in state["actions"]:
            self.step(action)
        if self.status != state["status"]:
            raise RuntimeError(
                f"context {state['context']} of {self.task.name} replayed is {self.status}, not {state['status']}"
            )

    def close(self) -> None:
        """Close the game."""
        self.game.close()


def check_penalty_step(penalty: object) -> float:
    """`penalty` as a float in [-1, 0]."""
    is_number = isinstance(penalty, int | float | np.number) and not isinstance(penalty, bool)
    if not is_number or not -1 <= float(penalty) <= 0:  # type: ignore[arg-type]
        raise InvalidInput(f"penalty_step {penalty!r} cannot be used; allowed: numbers from -1 to 0")
    return float(penalty)  # type: ignore[arg-type]
