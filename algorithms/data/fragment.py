"""A fragment: T steps of N envs, the unit of data passed between all components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

Array = np.ndarray


@dataclass
class Fragment:
    """Time-major arrays of T steps of N envs.

    At step t the agent saw `observations[t]`, took `action[t]` and received `reward[t]`. An episode that ends at step t
    sets `terminated[t]` or `truncated[t]`; row t + 1 is then the first observation of the env's next episode
    (`first[t + 1]`), and the episode's final observation is in `finals`. Row T is the first row of the env's next
    fragment.
    """

    observations: dict[str, Array]
    """[T + 1, N, ...] each."""
    action: Array
    """[T, N] int64."""
    behaviour_logits: Array
    """[T, N, A] float32: the policy that acted."""
    reward: Array
    """[T, N] float32: the extrinsic reward."""
    first: Array
    """[T + 1, N] bool: the first observation of an episode."""
    terminated: Array
    """[T, N] bool: the episode ended in a terminal state."""
    truncated: Array
    """[T, N] bool: the episode reached its step limit; its value must be bootstrapped."""
    episode: Array
    """[T + 1, N] int64: episode number, unique within its env."""
    context: Array
    """[T + 1, N] int64: context id of the episode."""
    env_index: Array
    """[N] int64: env index, unique across all runners of a trial."""
    sequence: Array
    """[N] int64: how many fragments the env produced before; a gap means that some were lost."""
    finals: dict[str, Array]
    """[F, ...] each: the final observation of every episode that ended in this fragment."""
    final_index: Array
    """[F, 2] int64: (t, n) of the step that led to each row of `finals`."""
    state: tuple[Array, ...] = ()
    """Recurrent state of the policy before row 0: [layers, N, hidden] each."""
    final_state: tuple[Array, ...] = ()
    """Recurrent state of the policy before each row of `finals`: [layers, F, hidden] each."""
    policy_features: Array | None = None
    """[T + 1, N, d]: the policy's features, recorded only if a bonus needs them."""
    weights_version: int = 0
    """Version of the policy weights that acted."""
    extra: dict[str, Array] = field(default_factory=dict)
    """Further [T, N, ...] columns, such as the parts of the intrinsic reward."""

    @property
    def num_steps(self) -> int:
        """T."""
        return self.action.shape[0]

    @property
    def num_envs(self) -> int:
        """N."""
        return self.action.shape[1]

    @property
    def done(self) -> Array:
        """[T, N] bool: the episode ended with this step, terminated or truncated."""
        return self.terminated | self.truncated

    def states(self) -> dict[str, Array]:
        """Every state of the fragment once: rows 0..T of all envs, then the finals, [(T + 1) N + F, ...]."""
        flat = {key: rows.reshape(-1, *rows.shape[2:]) for key, rows in self.observations.items()}
        if not len(self.final_index):
            return flat
        return {key: np.concatenate([rows, self.finals[key]]) for key, rows in flat.items()}

    def next_state_index(self) -> Array:
        """[T, N]: the row of `states()` that holds the true s_{t+1} of each step."""
        T, N = self.action.shape
        index = np.arange(N, (T + 1) * N).reshape(T, N)
        index[self.final_index[:, 0], self.final_index[:, 1]] = (T + 1) * N + np.arange(len(self.final_index))
        return index

    def select_envs(self, columns: Sequence[int]) -> Fragment:
        """The fragment with only some of its envs, in the given order."""
        chosen = np.asarray(columns)
        position = {int(column): place for place, column in enumerate(chosen)}
        kept = [row for row, (_, n) in enumerate(self.final_index) if int(n) in position]
        parts: dict[str, object] = {name: getattr(self, name)[:, chosen] for name in _TIME_MAJOR}
        return Fragment(
            observations={key: rows[:, chosen] for key, rows in self.observations.items()},
            env_index=self.env_index[chosen],
            sequence=self.sequence[chosen],
            finals={key: rows[kept] for key, rows in self.finals.items()},
            final_index=np.array(
                [(self.final_index[row, 0], position[int(self.final_index[row, 1])]) for row in kept], dtype=np.int64
            ).reshape(-1, 2),
            state=tuple(part[:, chosen] for part in self.state),
            final_state=tuple(part[:, kept] for part in self.final_state),
            policy_features=None if self.policy_features is None else self.policy_features[:, chosen],
            weights_version=self.weights_version,
            extra={key: rows[:, chosen] for key, rows in self.extra.items()},
            **parts,  # type: ignore[arg-type]
        )


_TIME_MAJOR = ("action", "behaviour_logits", "reward", "first", "terminated", "truncated", "episode", "context")


def concat_envs(fragments: Sequence[Fragment]) -> Fragment:
    """One fragment with the envs of several fragments of equal length T."""
    if len(fragments) == 1:
        return fragments[0]
    lengths = {fragment.num_steps for fragment in fragments}
    if len(lengths) != 1:
        raise ValueError(f"cannot concatenate fragments of different lengths: {sorted(lengths)}")
    offsets = np.cumsum([0, *(fragment.num_envs for fragment in fragments)])
    features = [fragment.policy_features for fragment in fragments]
    parts: dict[str, object] = {
        name: np.concatenate([getattr(fragment, name) for fragment in fragments], axis=1) for name in _TIME_MAJOR
    }
    return Fragment(
        observations={
            key: np.concatenate([fragment.observations[key] for fragment in fragments], axis=1)
            for key in fragments[0].observations
        },
        env_index=np.concatenate([fragment.env_index for fragment in fragments]),
        sequence=np.concatenate([fragment.sequence for fragment in fragments]),
        finals={key: np.concatenate([fragment.finals[key] for fragment in fragments]) for key in fragments[0].finals},
        final_index=np.concatenate(
            [
                fragment.final_index + np.array([0, offset])
                for fragment, offset in zip(fragments, offsets[:-1], strict=True)
            ]
        ),
        state=_join_states([fragment.state for fragment in fragments]),
        final_state=_join_states([fragment.final_state for fragment in fragments]),
        policy_features=None if features[0] is None else np.concatenate(features, axis=1),  # type: ignore[arg-type]
        weights_version=min(fragment.weights_version for fragment in fragments),
        extra={
            key: np.concatenate([fragment.extra[key] for fragment in fragments], axis=1) for key in fragments[0].extra
        },
        **parts,  # type: ignore[arg-type]
    )


def _join_states(states: Sequence[tuple[Array, ...]]) -> tuple[Array, ...]:
    return tuple(np.concatenate(parts, axis=1) for parts in zip(*states, strict=True))
