"""Synthetic trajectories with MiniHack's observations, cut into fragments of any lengths: for tests and benchmarks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import gymnasium as gym
import numpy as np

from bonuslab.algorithms.data.fragment import Fragment

State = dict[str, np.ndarray]
NUM_ACTIONS = 8
OBSERVATION_SPACE = gym.spaces.Dict(
    {
        "glyphs": gym.spaces.Box(0, 5976, (21, 79), np.int16),
        "blstats": gym.spaces.Box(-(2**31), 2**31 - 1, (27,), np.int64),
        "message": gym.spaces.Box(0, 255, (256,), np.uint8),
    }
)
_STEPS = np.array([(0, -1), (1, -1), (1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1)])
_MESSAGES = [b"", b"", b"", b"It's a wall.", b"The door opens.", b"You see here a key."]


class Trajectory:
    """Random walks of N envs on a small grid, with episodes that win, die or run out of steps.

    `cut(lengths)` gives the same trajectory as consecutive fragments of these lengths, to compare behaviour at fragment
    boundaries. Steps beyond the last cut stay unused.
    """

    def __init__(self, num_envs: int, num_steps: int, seed: int = 0, grid: int = 6, mean_episode: int = 12) -> None:
        rng = np.random.default_rng(seed)
        shape = (num_steps, num_envs)
        self.action = rng.integers(NUM_ACTIONS, size=shape)
        self.behaviour_logits = rng.normal(size=(*shape, NUM_ACTIONS)).astype(np.float32)
        ends = rng.random(shape) < 1 / mean_episode
        self.terminated = ends & (rng.random(shape) < 0.6)
        self.truncated = ends & ~self.terminated
        self.reward = np.where(self.terminated, 1.0, -0.01 * (rng.random(shape) < 0.2)).astype(np.float32)
        self.first = np.concatenate([np.ones((1, num_envs), bool), ends])
        self.episode = np.cumsum(self.first, axis=0).astype(np.int64)
        self.context = self.episode * 1000 + np.arange(num_envs)
        self._background = rng.integers(2300, 2420, size=(21, 79)).astype(np.int16)

        position = rng.integers(grid, size=(num_envs, 2))
        rows, finals, index = [self._observe(rng, position)], [], []
        for t in range(num_steps):
            position = np.clip(position + _STEPS[self.action[t]], 0, grid - 1)
            after = self._observe(rng, position)
            for n in np.flatnonzero(ends[t]):
                finals.append({key: value[n].copy() for key, value in after.items()})
                index.append((t, n))
                position[n] = rng.integers(grid, size=2)
            if ends[t].any():
                fresh = self._observe(rng, position)
                for key, value in after.items():
                    value[ends[t]] = fresh[key][ends[t]]
            rows.append(after)
        self.observations = {key: np.stack([row[key] for row in rows]) for key in rows[0]}
        self._finals = finals
        self._final_index = np.array(index, dtype=np.int64).reshape(-1, 2)

    def cut(self, lengths: Sequence[int], first_env: int = 0) -> list[Fragment]:
        """Consecutive fragments of these lengths."""
        starts = np.cumsum([0, *lengths])
        return [
            self._fragment(int(start), length, number, first_env)
            for number, (start, length) in enumerate(zip(starts[:-1], lengths, strict=True))
        ]

    def _fragment(self, start: int, length: int, number: int, first_env: int) -> Fragment:
        stop = start + length
        ended = np.flatnonzero((self._final_index[:, 0] >= start) & (self._final_index[:, 0] < stop))
        N = self.action.shape[1]
        return Fragment(
            observations={key: rows[start : stop + 1] for key, rows in self.observations.items()},
            action=self.action[start:stop],
            behaviour_logits=self.behaviour_logits[start:stop],
            reward=self.reward[start:stop],
            first=self.first[start : stop + 1],
            terminated=self.terminated[start:stop],
            truncated=self.truncated[start:stop],
            episode=self.episode[start : stop + 1],
            context=self.context[start : stop + 1],
            env_index=np.arange(first_env, first_env + N),
            sequence=np.full(N, number),
            finals={
                key: np.stack([self._finals[row][key] for row in ended])
                if len(ended)
                else np.zeros((0, *rows.shape[2:]), rows.dtype)
                for key, rows in self.observations.items()
            },
            final_index=self._final_index[ended] - np.array([start, 0]),
        )

    def _observe(self, rng: np.random.Generator, position: np.ndarray) -> dict[str, np.ndarray]:
        N = len(position)
        glyphs = np.full((N, 21, 79), 2359, np.int16)
        glyphs[:, 5:12, 30:50] = self._background[5:12, 30:50]
        glyphs[np.arange(N), 5 + position[:, 1], 30 + position[:, 0]] = 337
        blstats = np.zeros((N, 27), np.int64)
        blstats[:, 0], blstats[:, 1] = 30 + position[:, 0], 5 + position[:, 1]
        blstats[:, 10] = rng.integers(8, 16, size=N)
        message = np.zeros((N, 256), np.uint8)
        for n, choice in enumerate(rng.integers(len(_MESSAGES), size=N)):
            text = _MESSAGES[choice]
            message[n, : len(text)] = np.frombuffer(text, np.uint8)
        return {"glyphs": glyphs, "blstats": blstats, "message": message}


def state_at(fragment: Fragment, t: int, n: int) -> State:
    """s_t of env n, looked up literally: for slow reference implementations."""
    return {key: rows[t, n] for key, rows in fragment.observations.items()}


def next_state_at(fragment: Fragment, t: int, n: int) -> State:
    """The true s_{t+1} of env n, looked up literally."""
    for row, index in enumerate(fragment.final_index.tolist()):
        if index == [t, n]:
            return {key: rows[row] for key, rows in fragment.finals.items()}
    return state_at(fragment, t + 1, n)


def walk(fragments: Sequence[Fragment]) -> Iterator[tuple[int, State, State, bool]]:
    """(n, s_t, true s_{t+1}, whether s_t starts an episode) of every step, in order of time, then of envs."""
    for fragment in fragments:
        for t, n in np.ndindex(*fragment.action.shape):
            yield n, state_at(fragment, t, n), next_state_at(fragment, t, n), bool(fragment.first[t, n])
