"""`bonuslab train --algorithm ddppo`: the same folder, rows, resuming and agents as with IMPALA."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
import torch

from bonuslab.platform.cli.main import main
from bonuslab.platform.run.agent import TrainedAgent
from bonuslab.platform.run.run_folder import RunFolder

NUMBERS = {"envs_per_batch": 4, "unroll_length_steps": 8, "minibatches": 2, "passes": 1, "num_values": 2}
WORDS = ["--serial", *(word for name, value in NUMBERS.items() for word in ("--set", f"{name}={value}"))]


def begin(path: Path, steps: int) -> None:
    words = ["train", "MultiRoom-N2-S4", "--algorithm", "ddppo", "--bonus", "e3b * rnd", "--steps", str(steps)]
    assert main([*words, *WORDS, "--evaluate-every", "0", "--out", str(path)]) == 0


def rows(path: Path) -> list[dict[str, str]]:
    with (path / "progress.csv").open() as file:
        return list(csv.DictReader(file))


def weights(path: Path) -> dict[str, torch.Tensor]:
    checkpoint, _ = RunFolder(path).newest_checkpoint()
    assert checkpoint is not None
    return TrainedAgent.load(checkpoint).network.state_dict()


def test_a_resumed_run_is_bitwise_the_uninterrupted_one_and_can_be_played(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    begin(whole, 192)
    begin(parts, 96)
    assert main(["train", "--resume", str(parts), "--steps", "192"]) == 0
    ours, theirs = weights(whole), weights(parts)
    assert ours["value_head.weight"].shape[0] == 2
    assert all(torch.equal(value, theirs[name]) for name, value in ours.items())
    table = rows(parts)
    assert [int(row["env_steps"]) for row in table] == [32 * number for number in range(1, 7)]
    assert {"policy_loss", "kl_to_behaviour", "learn/rnd/predictor_loss", "term/e3b/raw_mean"} <= table[0].keys()

    checkpoint, _ = RunFolder(whole).newest_checkpoint()
    assert checkpoint is not None
    agent = TrainedAgent.load(checkpoint)
    env = agent.make_env(seed=0)
    recording = agent.play(env, agent.family.album(), torch.Generator().manual_seed(0), greedy=False, context=None)
    env.close()
    assert len(recording.actions) == len(recording.bonus) > 0
    assert np.isfinite(recording.bonus).all()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--algorithm", "ppo"], "did you mean ddppo"),
        (["--algorithm", "ddppo", "--preset", "paper"], "allowed: habitat, laptop, laptop-pixels, montezuma"),
        (["--algorithm", "ddppo", "--set", "clip_rho=1"], "unknown setting 'clip_rho'"),
        (["--algorithm", "ddppo", "--set", "sync_fraction=2"], "sync_fraction=2.0 cannot be used"),
    ],
)
def test_bad_input_is_named(words: list[str], named: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "MultiRoom-N6", *words]) == 2
    assert named in capsys.readouterr().err
