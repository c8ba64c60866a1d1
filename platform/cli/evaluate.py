"""`bonuslab evaluate`: evaluate trained policies on held-out contexts."""

from __future__ import annotations

import json
import sys
import time
from argparse import ArgumentParser, Namespace

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.cli.command import add_trust
from bonuslab.platform.grid.arguments import check_options
from bonuslab.platform.run.find import Found, find
from bonuslab.platform.run.progress import Progress
from bonuslab.platform.run.results import outcome_text


class EvaluateCommand:
    """See `help`."""

    help = "evaluate the trained policies of a run or grid on held-out contexts, greedy and sampled"
    example = "bonuslab evaluate runs/NAME --episodes 100"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the command's arguments."""
        parser.add_argument("run", nargs="?", help="name or folder of a run, grid or trial (default: the newest)")
        parser.add_argument("--episodes", type=int, default=32, metavar="N", help="episodes per mode (default 32)")
        parser.add_argument("--seed", type=int, default=0, help="random seed of contexts and actions (default 0)")
        add_trust(parser)
        parser.add_argument("--json", action="store_true", help="print JSON instead of text")

    def run(self, arguments: Namespace) -> int:
        """Evaluate every selected trial; 1 if some have no checkpoint that can be loaded, 2 if all."""
        check_options(vars(arguments), episodes=1, seed=0)
        found = find(arguments.run)
        trials = [found.trial] if found.trial is not None else found.grid.trials()
        from bonuslab.platform.run.agent import TrainedAgent
        from bonuslab.platform.run.checkpoints import newest_checkpoint
        from bonuslab.platform.run.ray_session import silence_notices

        silence_notices()
        display = Progress(1)
        results = {}
        for trial in trials:
            started = time.perf_counter()
            if not arguments.json:
                display.waiting(f"evaluating {trial.id}")
            try:
                agent = TrainedAgent.load(newest_checkpoint(Found(found.grid, trial)), arguments.trust)
            except InvalidInput as error:
                if len(trials) == 1:
                    raise
                display.clear()
                print(f"bonuslab: {error}", file=sys.stderr)
                continue
            results[trial.id] = agent.evaluate(arguments.episodes, arguments.seed)
            if not arguments.json:
                display.clear()
                print(f"{trial.id}: {arguments.episodes} episodes per mode in {time.perf_counter() - started:.1f} s")
                for mode, metrics in results[trial.id].items():
                    named = {f"{mode}/{name}": value for name, value in metrics.items()}
                    print(f"  {mode:<8} {outcome_text(named, mode)}")
        if arguments.json:
            print(json.dumps(results, indent=1))
        return 0 if len(results) == len(trials) else 1 if results else 2
