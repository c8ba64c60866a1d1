"""The zoo: trained agents in the repository, each a small checkpoint without pickle, with its settings and scores."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bonuslab.algorithms.data.small_files import read_json, typed
from bonuslab.envs.errors import InvalidInput, unknown
from bonuslab.envs.scratch import scratch_folder
from bonuslab.platform.run.find import Found
from bonuslab.platform.run.results import EVALUATION_MODES, evaluation_columns, outcome_text
from bonuslab.platform.run.rows import STEPS

PREFIX = "zoo:"
FILE = "zoo.json"
ZOO = Path(__file__).parents[2] / "experiments" / "zoo"
"""In the repository, and in the installed package."""
MAX_BYTES = 2_000_000
"""Of one agent."""


@dataclass(frozen=True)
class Entry:
    """What zoo.json says about an agent."""

    task: str
    contexts: str
    bonus: str
    """That it was trained with."""
    bonus_kept: bool
    """Whether the state of the bonus is kept too; if it is too large, the agent plays without a bonus."""
    algorithm: str
    preset: str
    changed: dict[str, Any]
    """Hyperparameters and environment settings that differ from the preset's."""
    seed: int
    env_steps: int
    episodes: int
    """Per mode, on held-out contexts."""
    scores: dict[str, dict[str, float]]
    """Metrics by mode: greedy and sampled."""
    code: str
    """Version and commit of bonuslab that trained it."""

    @property
    def outcomes(self) -> list[str]:
        """Its scores by mode in words: `return 0.94  won 97%`."""
        columns = evaluation_columns(self.scores)
        return [outcome_text(columns, f"evaluation/{mode}") for mode in EVALUATION_MODES]


def entries(root: Path = ZOO) -> dict[str, Entry]:
    """All agents by name."""
    files = sorted(root.glob(f"*/{FILE}"))
    return {file.parent.name: typed(Entry, read_json(file), file) for file in files}


def folder_of(name: str, root: Path = ZOO) -> Path:
    """The folder of an agent, which is a checkpoint; `zoo:` in front of its name is allowed."""
    plain = name.removeprefix(PREFIX)
    known = [file.parent.name for file in root.glob(f"*/{FILE}")]
    if plain not in known:
        raise unknown("agent of the zoo", plain, known or ["(none yet)"])
    return root / plain


def add(found: Found, name: str, episodes: int = 100, root: Path = ZOO) -> tuple[Path, Entry]:
    """Make an agent of a run's newest checkpoint: its policy, and its bonus if both fit; evaluates it."""
    from bonuslab.algorithms.learning.checkpoint import seal
    from bonuslab.platform.run.agent import TrainedAgent
    from bonuslab.platform.run.checkpoints import newest_checkpoint
    from bonuslab.platform.run.training import read_checkpoint_rows

    if not re.fullmatch(r"[\w.-]+", name) or name.startswith("."):
        raise InvalidInput(f"the name of an agent has letters, digits, dots, dashes and underscores only, not {name!r}")
    if (root / name).exists():
        raise InvalidInput(f"the zoo has an agent {name!r} already; choose another name, or delete {root / name}")
    trial = found.require_trial()
    config, state = trial.description().config, trial.state()
    if config.get("plugins") or ":" in config["task"]:
        raise InvalidInput(f"{trial.id} needs code of its own; the zoo has only agents that bonuslab itself can play")
    checkpoint = newest_checkpoint(found)
    with scratch_folder() as scratch:
        folder = scratch / name
        folder.mkdir()
        kept = _write(checkpoint, folder)
        scores = TrainedAgent.load(checkpoint).evaluate(episodes)
        entry = Entry(
            *(config["task"], config["contexts"], config["bonus"], kept, config["algorithm"], config["preset"]),
            changed={**config["hyperparameters"], **config["env"]},
            seed=config["seed"],
            env_steps=int(read_checkpoint_rows(checkpoint)[-1][STEPS]),
            episodes=episodes,
            scores={mode: {key: float(f"{value:.4g}") for key, value in one.items()} for mode, one in scores.items()},
            code=state.code,
        )
        (folder / FILE).write_text(json.dumps(asdict(entry), indent=1) + "\n")
        seal(folder)
        TrainedAgent.load(folder)
        shutil.copytree(folder, root / name)
    return root / name, entry


def _write(checkpoint: Path, folder: Path) -> bool:
    """Policy and bonus of a checkpoint as a smaller one; whether there was room for the bonus."""
    from bonuslab.algorithms.learning.checkpoint import verify
    from bonuslab.algorithms.learning.state_file import ARRAYS, TREE, read_state, write_state
    from bonuslab.algorithms.rllib.description import FILE as CONFIG
    from bonuslab.platform.run.agent import BONUS, WEIGHTS

    verify(checkpoint)
    if not (checkpoint / CONFIG).exists():
        raise InvalidInput(f"{checkpoint} has a configuration that only a pickle can express")
    config = read_json(checkpoint / CONFIG)
    for kept in (True, False):
        state: dict[str, Any] = {}
        for path in (WEIGHTS, BONUS) if kept else (WEIGHTS,):
            place = state
            for key in path[:-1]:
                place = place.setdefault(key, {})
            place[path[-1]] = read_state(checkpoint, *path, require_trust=_refuse)
            _forget_training(place[path[-1]])
        write_state(folder, state)
        (folder / CONFIG).write_text(json.dumps(config if kept else {**config, "bonus": "none"}, indent=1) + "\n")
        size = sum((folder / file).stat().st_size for file in (ARRAYS, TREE, CONFIG))
        if size <= MAX_BYTES:
            return kept
    raise InvalidInput(f"the policy takes {size / 1e6:.1f} MB, and an agent of the zoo at most {MAX_BYTES / 1e6:g} MB")


def _forget_training(state: Any) -> None:
    """Drop what only training needs: the state of optimisers, and the memory of episodes in progress."""
    for key, value in state.items() if isinstance(state, dict) else []:
        if key == "optimiser":
            value["state"] = {}
        elif key in ("kept", "envs"):  # `EpisodeMemory`, `EpisodicCounter`
            state[key] = {}
        else:
            _forget_training(value)


def _refuse(what: str) -> None:
    raise InvalidInput(f"the checkpoint contains {what}, which would be a pickle")
