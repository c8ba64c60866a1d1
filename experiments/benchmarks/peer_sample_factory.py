"""The peer: Sample Factory's PPO in serial mode, its cheapest, with the same network, envs and work.

Runs in an environment of its own (`peer_environment.py`), because it needs an older Gymnasium.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from typing import Any

import torch
from sample_factory.algo.runners.runner import AlgoObserver
from sample_factory.algo.utils.context import global_model_factory
from sample_factory.cfg.arguments import parse_full_cfg, parse_sf_args
from sample_factory.envs.env_utils import register_env
from sample_factory.model.encoder import Encoder
from sample_factory.train import make_runner
from sample_factory.utils.utils import log

from bonuslab.envs.minihack import make
from bonuslab.experiments.benchmarks.peer_network import CORE, HIDDEN, PlainEncoder
from bonuslab.experiments.benchmarks.peer_turns import Turns, Work, work_from_command_line

DTYPES = {"glyphs": torch.int16, "blstats": torch.int64, "message": torch.uint8}


def make_env(task: str, cfg: Any, env_config: Any, render_mode: str | None = None) -> Any:
    """The environment; each has a stream of contexts of its own."""
    return make(task, seed=cfg.seed, stream=env_config.env_id if env_config else 0)


class SameEncoder(Encoder):
    """The plain encoder; Sample Factory adds its `nn.LSTM` and linear heads."""

    def __init__(self, cfg: Any, space: Any) -> None:
        super().__init__(cfg)
        self.encoder = PlainEncoder(space)

    def forward(self, observations: dict[str, torch.Tensor]) -> torch.Tensor:
        """[B, d]."""
        return self.encoder(observations)

    def get_out_size(self) -> int:
        """Width of the features."""
        return HIDDEN

    def type_for_input_tensor(self, input_tensor_name: str) -> torch.dtype:
        """Observations stay integers."""
        return DTYPES[input_tensor_name]


class InTurns(AlgoObserver):
    """Waits between turns; in serial mode that stops everything."""

    def __init__(self, turns: Turns, folder: tempfile.TemporaryDirectory[str]) -> None:
        self._turns, self._folder = turns, folder

    def on_start(self, runner: Any) -> None:
        """Wait for the first turn."""
        self.on_training_step(runner, 0)

    def on_training_step(self, runner: Any, training_iteration_since_resume: int) -> None:
        """End the process when nobody asks any more."""
        if not self._turns.go_on(runner.env_steps.get(0, 0)):
            self._folder.cleanup()
            os._exit(0)  # its event loop would catch SystemExit


def arguments(work: Work, folder: str) -> list[str]:
    """The command line; what is not named here is Sample Factory's default."""
    values = {
        "env": work.task,
        "train_dir": folder,
        "seed": work.seed,
        "device": "cpu",
        "serial_mode": True,
        "async_rl": False,
        "num_workers": 1,
        "worker_num_splits": 1,
        "num_envs_per_worker": work.num_envs,
        "rollout": work.unroll,
        "recurrence": work.unroll,
        "batch_size": work.minibatch_steps,
        "num_batches_per_epoch": work.minibatches,
        "num_epochs": work.epochs,
        "learning_rate": work.lr,
        "ppo_clip_ratio": work.clip,
        "gamma": work.gamma,
        "gae_lambda": work.decay,
        "exploration_loss_coeff": work.entropy,
        "value_loss_coeff": work.value,
        "max_grad_norm": work.grad_clip,
        "use_rnn": True,
        "rnn_type": "lstm",
        "rnn_size": CORE,
        "normalize_input": False,
        "normalize_returns": False,
        "decorrelate_envs_on_one_worker": False,
        "set_workers_cpu_affinity": False,
        "save_every_sec": 10**6,
        "train_for_env_steps": 10**12,
    }
    return ["--algo=APPO", *(f"--{name}={value}" for name, value in values.items())]


def main() -> None:
    """Train as long as asked."""
    work, _ = work_from_command_line()
    warnings.filterwarnings("ignore")
    log.setLevel("ERROR")
    torch.set_num_threads(1)
    register_env(work.task, make_env)
    global_model_factory().register_encoder_factory(SameEncoder)
    folder = tempfile.TemporaryDirectory()
    parser, _ = parse_sf_args(given := arguments(work, folder.name))
    _, runner = make_runner(parse_full_cfg(parser, given))
    runner.register_observer(InTurns(Turns(work.batch_steps), folder))
    runner.init()
    runner.run()


if __name__ == "__main__":
    main()
