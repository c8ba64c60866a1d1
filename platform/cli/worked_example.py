"""A worked example of a bonus: its values on a short walk in MiniHack, repeated over several episodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bonuslab.algorithms.bonuses import Bonus, Setting, parse
from bonuslab.algorithms.bonuses.reward.model import IntrinsicModel
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.data.synthetic import NUM_ACTIONS, OBSERVATION_SPACE
from bonuslab.envs.errors import InvalidInput

CELLS = (0, 1, 2, 3, 2, 1, 0)
"""Three cells to the right and back."""
EPISODES = (1, 2, 20)
"""Those shown; in between the walk is the same."""
EAST, WEST = 2, 6
FLOOR, AGENT = 2378, 337
POLICY_FEATURES = 8


def example(bonus: Bonus) -> dict[str, Any]:
    """The raw bonus of each step of the walk, by episode; or why there is none."""
    setting = Setting(OBSERVATION_SPACE, NUM_ACTIONS, network="small")
    values: dict[str, list[float]] = {}
    try:
        model = IntrinsicModel(parse(str(bonus)), setting, normalise="none")
        for episode in range(1, max(EPISODES) + 1):
            raw = model.process(walk(episode)).bonus_raw[:, 0]
            if episode in EPISODES:
                values[str(episode)] = [float(f"{value:.3g}") for value in raw]
    except InvalidInput as error:
        return {"problem": str(error)}
    return {"cells": list(CELLS[1:]), "bonus": values}


def example_lines(answer: dict[str, Any]) -> Iterator[str]:
    """`example()` as text."""
    if "problem" in answer:
        yield f"\nno worked example with MiniHack's observations: {answer['problem']}"
        return
    yield "\nworked example: the agent walks three cells to the right and back, in every episode, on the same map"
    rows = {"to cell": answer["cells"]}
    rows |= {f"episode {number}": values for number, values in answer["bonus"].items()}
    for name, row in rows.items():
        yield f"  {name:<12}" + "".join(f"{value:>9g}" for value in row)


def walk(episode: int) -> Fragment:
    """One episode as a fragment of one env: a reward at its end, which is terminal."""
    T = len(CELLS) - 1
    x = np.array(CELLS)
    glyphs = np.full((T + 2, 1, 21, 79), 2359, np.int16)
    glyphs[..., 10, 30 : 31 + max(CELLS)] = FLOOR
    # The last row is the next episode's first state; `finals` has this one's last.
    place = np.append(x, CELLS[0])
    glyphs[np.arange(T + 2), 0, 10, 30 + place] = AGENT
    blstats = np.zeros((T + 2, 1, 27), np.int64)
    blstats[:, 0, 0], blstats[:, 0, 1] = 30 + place, 10
    observations: dict[str, np.ndarray] = {
        "glyphs": glyphs,
        "blstats": blstats,
        "message": np.zeros((T + 2, 1, 256), np.uint8),
    }
    shown = [*range(T), T + 1]
    ends = np.arange(T)[:, None] == T - 1
    features = np.random.default_rng(0).normal(size=(max(CELLS) + 1, POLICY_FEATURES)).astype(np.float32)
    return Fragment(
        observations={key: rows[shown] for key, rows in observations.items()},
        action=np.where(np.diff(x) > 0, EAST, WEST)[:, None],
        behaviour_logits=np.zeros((T, 1, NUM_ACTIONS), np.float32),
        reward=ends.astype(np.float32),
        first=np.array([True, *[False] * (T - 1), True])[:, None],
        terminated=ends,
        truncated=np.zeros((T, 1), bool),
        episode=np.array([episode] * T + [episode + 1])[:, None],
        context=np.zeros((T + 1, 1), np.int64),
        env_index=np.zeros(1, np.int64),
        sequence=np.array([episode - 1]),
        finals={key: rows[T] for key, rows in observations.items()},
        final_index=np.array([[T - 1, 0]]),
        policy_features=features[place[shown]][:, None],
    )
