"""The command of an experiment: plan, run or resume its grid."""

from __future__ import annotations

import argparse
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import fields, replace
from os.path import expanduser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bonuslab.envs.errors import InvalidInput, printable
from bonuslab.platform.grid.arguments import add_arguments, check_options, selected_scale
from bonuslab.platform.grid.experiment import Experiment, Scale
from bonuslab.platform.run.loading import paused_collector
from bonuslab.platform.run.progress import Progress

if TYPE_CHECKING:
    from bonuslab.platform.grid.session import GridSession
    from bonuslab.platform.run.folder import TrialDescription


class ExperimentCommand:
    """An experiment as a command: `python experiments/NAME.py` and, if registered, `bonuslab NAME`."""

    experiment: Experiment
    help: str

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the command's arguments."""
        add_arguments(parser, self.experiment)

    def run(self, arguments: Namespace) -> int:
        """0: all trials finished, 1: some failed, 128 + n: stopped by signal n."""
        given = vars(arguments)
        check_options(given, concurrent=1, max_retries=0, cpus_per_trial=0, gpus_per_trial=0)
        loading = Progress(1)
        loading.hint("loading PyTorch and RLlib")
        with paused_collector():
            from bonuslab.platform.grid.session import GridSession
            from bonuslab.platform.run.ray_session import silence_notices

        silence_notices()
        scale = selected_scale(given, self.experiment)
        if "search" in given:
            if "winners" in given:
                raise InvalidInput("--search and --winners cannot be given together")
            scale = replace(scale, winners=None)  # search from the study's own settings, not from an earlier search
        trials = scale.trials()
        loading.clear()
        name = given.get("scale", self.experiment.default_scale)
        session = GridSession(self.experiment, name, scale, trials, self._folder(given, name), session_options(given))
        if "search" in given:
            session = self._search(given, name, scale, trials)
        return session.plan() if "plan" in given else session.run()

    def main(self, words: Sequence[str] | None = None) -> int:
        """Run as a script; invalid input prints one sentence and returns 2."""
        parser = argparse.ArgumentParser(description=self.experiment.description)
        self.add_arguments(parser)
        try:
            return self.run(parser.parse_args(words))
        except InvalidInput as error:
            print(f"{self.experiment.name}: {printable(str(error))}", file=sys.stderr)
            return 2
        except KeyboardInterrupt:
            print(f"{self.experiment.name}: stopped", file=sys.stderr)
            return 130

    def _search(self, given: dict[str, Any], name: str, scale: Scale, trials: list[TrialDescription]) -> GridSession:
        from bonuslab.platform.grid.search_session import SearchSession

        assert self.experiment.search is not None
        study_seeds = [seed for one in self.experiment.scales.values() for seed in one.seeds] + list(scale.seeds)
        path = self._folder(given, f"{name}-search")
        return SearchSession(
            self.experiment.name, name, self.experiment.search, scale, trials, study_seeds, path, session_options(given)
        )

    def _folder(self, given: dict[str, Any], scale: str) -> Path:
        if "out" in given:
            return Path(expanduser(given["out"]))
        return Path("runs") / f"{self.experiment.name}-{scale}"


def session_options(given: dict[str, Any]) -> dict[str, Any]:
    """The fields of `SessionOptions`."""
    from bonuslab.platform.grid.session import SessionOptions

    if "recalibrate" in given and "plan" not in given:
        raise InvalidInput("--recalibrate needs --plan, which measures the speed of the trials")
    if "wandb" in given:
        from bonuslab.platform.tracking.wandb_runs import require_wandb

        require_wandb()
    return {one.name: given[one.name] for one in fields(SessionOptions) if one.name in given}
