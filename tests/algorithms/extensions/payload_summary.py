"""What a process makes of a payload of `user_script.py`. Workers import this file, and nothing of the script."""

from __future__ import annotations

from typing import Any

from bonuslab.algorithms import extensions
from bonuslab.algorithms.bonuses import Setting, parse
from bonuslab.algorithms.data.synthetic import NUM_ACTIONS, OBSERVATION_SPACE, Trajectory
from bonuslab.algorithms.extensions.kinds import user_entries
from bonuslab.algorithms.networks import build_policy
from bonuslab.envs.catalogue import canonical_name
from bonuslab.envs.errors import InvalidInput


def summary(payload: bytes) -> dict[str, Any]:
    """Install the payload and use everything in it."""
    extensions.install(payload)
    extensions.install(payload)
    (fragment,) = Trajectory(2, 10).cut([10])
    text = "speed(scale=2, mode=far) + visits(near, none, size=4) * count.episodic(feature=corner)"
    expression = parse(text).build(Setting(OBSERVATION_SPACE, NUM_ACTIONS))
    found: dict[str, Any] = {"total": float(expression.compute(fragment).sum()), "metrics": expression.learn(fragment)}
    try:
        parse("visits")
    except InvalidInput as error:
        found["error"] = str(error)
    return found | {
        "names": sorted(slot.name for slot in user_entries()),
        "encoder": type(build_policy("wide", OBSERVATION_SPACE, NUM_ACTIONS).encoder).__name__,
        "environment": canonical_name("Corridor"),
        "same": extensions.capture() == payload,
    }
