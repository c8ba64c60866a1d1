"""Trains in a process of its own for `training.py`, which sends a number of updates on each input line.

Runs with the code of any revision, so it knows the configuration's present name and the one before version 0.2.
"""

from __future__ import annotations

import json
import logging
import sys
import time
import warnings
from typing import Any


def _config(settings: dict[str, Any]) -> Any:
    before = settings.pop("before", {})
    try:
        from bonuslab.platform.run.config import Config
    except ImportError:
        from bonuslab.platform.run_settings import RunSettings

        settings.pop("hyperparameters", None)
        return RunSettings(**{**settings, **before}).config()
    return Config(**settings).rllib()


def main() -> None:
    """Answer each line with the CPU seconds, the steps and the share of episodes won lately."""
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    import torch

    torch.set_num_threads(1)
    algorithm = _config(json.loads(sys.argv[1])).build_algo()
    for line in sys.stdin:
        steps, started = algorithm.env_steps, time.process_time()
        for _ in range(int(line)):
            result = algorithm.train()
        seconds = time.process_time() - started
        won = result.get("env_runners", {}).get("win_rate")
        print("answer", json.dumps([seconds, algorithm.env_steps - steps, won]), flush=True)
    algorithm.stop()


if __name__ == "__main__":
    main()
