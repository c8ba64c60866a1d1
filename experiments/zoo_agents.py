"""The agents of the zoo, trained as the results page's trials were, and a video for each of its claims.

    python experiments/zoo_agents.py [NAME ...] [--grid FOLDER]

The same as `make zoo`: trains every agent that the zoo does not have yet, one after the other (1 to 2 minutes each on
an idle core, `houses-e3b` longer), then films every claim. NAME is an agent or a video, if not all are wanted. With
`--grid`, agents whose trial has finished in that grid are taken from there. To train an agent again, delete its folders
in experiments/zoo and runs/zoo.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bonuslab.envs.errors import InvalidInput, unknown
from bonuslab.experiments import count_study, habitat_exploration, minihack_grid
from bonuslab.platform.grid.experiment import Experiment
from bonuslab.platform.run import zoo
from bonuslab.platform.run.agent import TrainedAgent, read_trial_config
from bonuslab.platform.run.config import Config
from bonuslab.platform.run.find import Found, find
from bonuslab.platform.run.folder import TRIALS
from bonuslab.platform.run.ray_session import silence_notices

VIDEOS = Path(__file__).parent / "results" / "videos"


class Source(NamedTuple):
    """The trial of an experiment that an agent repeats."""

    experiment: Experiment
    scale: str
    trial: str

    def config(self) -> Config:
        """The trial's configuration."""
        trials = {trial.id: trial for trial in self.experiment.scale(self.scale).trials()}
        return Config.from_dict(trials[self.trial].config)


class Claim(NamedTuple):
    """What a video shows: agents side by side on the same maps, with sampled actions."""

    agents: tuple[str, ...]
    seed: int
    """Of the maps and actions."""
    episodes: int = 1
    file_type: str = "gif"
    """MP4 where pictures have too many colours for a small GIF."""


AGENTS = {
    "multiroom-n8-global": Source(count_study.EXPERIMENT, "laptop", "MultiRoom-N8-S5__count.global__cinf__s0"),
    "multiroom-n8-episodic": Source(count_study.EXPERIMENT, "laptop", "MultiRoom-N8-S5__count.episodic__cinf__s0"),
    "multiroom-n6-messages": Source(
        count_study.EXPERIMENT, "shared", "MultiRoom-N6-S5__count.global-feature-message__cinf__s0"
    ),
    "opendoor-n6-rnd": Source(minihack_grid.EXPERIMENT, "laptop", "MultiRoom-N6-S5-OpenDoor__rnd__cinf__s0"),
    "opendoor-n6-e3b": Source(minihack_grid.EXPERIMENT, "laptop", "MultiRoom-N6-S5-OpenDoor__e3b__cinf__s0"),
    "opendoor-n6-product": Source(minihack_grid.EXPERIMENT, "laptop", "MultiRoom-N6-S5-OpenDoor__e3b-x-rnd__cinf__s0"),
    "multiroom-n8-product": Source(
        count_study.EXPERIMENT, "laptop", "MultiRoom-N8-S5__count.episodic-x-count.global__cinf__s0"
    ),
    "multiroom-n6-messages-episodic": Source(
        count_study.EXPERIMENT, "shared", "MultiRoom-N6-S5__count.episodic-feature-message__cinf__s0"
    ),
    "corridor-global": Source(count_study.EXPERIMENT, "shared", "Corridor-R3__count.global__c1__s0"),
    "houses-e3b": Source(habitat_exploration.EXPERIMENT, "laptop", "Apartments-64__e3b__cinf__s0"),
}
CLAIMS = {
    "positions": Claim(("multiroom-n8-global", "multiroom-n8-episodic"), seed=1),
    "messages": Claim(("multiroom-n6-messages", "multiroom-n6-messages-episodic"), seed=1),
    "corridor": Claim(("corridor-global",), seed=1),
    "product": Claim(("multiroom-n8-episodic", "multiroom-n8-product"), seed=1),
    "e3b": Claim(("opendoor-n6-rnd", "opendoor-n6-e3b", "opendoor-n6-product"), seed=2),
    "houses": Claim(("houses-e3b",), seed=1, episodes=4, file_type="mp4"),
}
"""By the name of the video."""


def train(name: str, grid: Path | None = None) -> None:
    """Train an agent, or take it from a grid, unless the zoo has it."""
    import bonuslab as bl

    if name in zoo.entries():
        print(f"{name} is in the zoo already")
        return
    found, config = _finished(grid, AGENTS[name].trial), AGENTS[name].config()
    if found is None:
        found = find(bl.train(config, out=Path("runs") / "zoo" / name).path)
    elif read_trial_config(found) != config:
        raise InvalidInput(f"{AGENTS[name].trial} has other settings in {grid} than in the experiment")
    _, entry = zoo.add(found, name)
    print(f"{name}: {entry.outcomes[1]} in {entry.episodes} held-out contexts with sampled actions")


def _finished(grid: Path | None, trial: str) -> Found | None:
    """The trial in the grid, if it is there and has finished."""
    if grid is None or not (grid / TRIALS / trial).is_dir():
        return None
    found = find(grid / TRIALS / trial)
    return found if found.require_trial().state().status == "finished" else None


def film(name: str) -> Path:
    """Write the video of a claim."""
    from bonuslab.platform.pictures import show, side_by_side

    claim, shows, titles = CLAIMS[name], [], []
    for agent in claim.agents:
        played = show.play(TrainedAgent.load(zoo.folder_of(agent)), claim.seed, episodes=claim.episodes)
        shows += played
        titles += [f"{zoo.entries()[agent].bonus}, {one.title}" for one in played]
    VIDEOS.mkdir(parents=True, exist_ok=True)
    path = VIDEOS / f"{name}.{claim.file_type}"
    side_by_side.save(shows, titles, path, seconds_per_frame=0.1)
    for title, one in zip(titles, shows, strict=True):
        print(f"{path.name}: {title}: {one.summary()}")
    return path


def main(argv: Sequence[str] | None = None) -> int:
    """See the module."""
    parser = argparse.ArgumentParser(description="Train the agents of the zoo and film the claims of the results page.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: {' '.join((*AGENTS, *CLAIMS))}")
    parser.add_argument("--grid", type=Path, metavar="FOLDER", help="take agents from the finished trials of this grid")
    arguments = parser.parse_args(argv)
    names = arguments.names or [*AGENTS, *CLAIMS]
    silence_notices()
    try:
        for name in names:
            if name not in {*AGENTS, *CLAIMS}:
                raise unknown("agent or video", name, [*AGENTS, *CLAIMS])
        for name in names:
            if name in AGENTS:
                train(name, arguments.grid)
            else:
                film(name)
    except InvalidInput as error:
        print(f"zoo_agents: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
