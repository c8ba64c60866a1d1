"""Optimisers without torch.compile: the same values as PyTorch's, and what they do not import."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import torch

from bonuslab.algorithms.ddppo.config import DDPPOConfig
from bonuslab.algorithms.ddppo.learner import PPOLearner
from bonuslab.algorithms.learning import no_compile

SETTINGS: dict[str, dict[str, float]] = {
    "Adam": {"lr": 0.01, "eps": 1e-5},
    "RMSprop": {"lr": 0.01, "alpha": 0.99, "eps": 0.01, "momentum": 0.5},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_steps_are_those_of_pytorch(name: str) -> None:
    def trained(kind: Any) -> tuple[torch.Tensor, Any]:
        weights = torch.nn.Parameter(torch.linspace(-1, 1, 7))
        optimiser = kind([weights], **SETTINGS[name])
        for step in range(6):
            if step == 3:  # a checkpoint
                state = optimiser.state_dict()
                optimiser = kind([weights], lr=1.0)
                optimiser.load_state_dict(state)
            optimiser.zero_grad()
            (weights.sin() * torch.arange(7)).sum().backward()
            optimiser.step()
        return weights.detach(), optimiser

    ours, optimiser = trained(getattr(no_compile, name))
    theirs, _ = trained(getattr(torch.optim, name))
    assert torch.equal(ours, theirs)
    assert isinstance(optimiser, getattr(torch.optim, name))
    assert torch.is_grad_enabled()


def test_the_compiler_is_not_imported() -> None:
    code = """
import sys, torch
from bonuslab.algorithms.learning.no_compile import Adam, no_inductor
with no_inductor():
    torch.use_deterministic_algorithms(True)
assert torch.are_deterministic_algorithms_enabled()
weights = torch.nn.Parameter(torch.ones(2))
optimiser = Adam([weights])
weights.sum().backward()
optimiser.step()
optimiser.zero_grad()
optimiser.state_dict()
print({"torch._dynamo", "torch._inductor"} & set(sys.modules))
import torch._inductor.config
print(torch._inductor.config.deterministic)
"""
    assert subprocess.check_output([sys.executable, "-c", code], text=True).split() == ["set()", "True"]


def test_learners_in_processes_of_their_own_do_not_import_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_DETERMINISTIC", "0")
    monkeypatch.delitem(sys.modules, "torch._inductor.config", raising=False)
    monkeypatch.setattr(torch, "use_deterministic_algorithms", lambda *_, **__: pytest.fail("this imports inductor"))
    mode = torch.get_deterministic_debug_mode()
    PPOLearner(config=DDPPOConfig().debugging(seed=1))
    assert torch.are_deterministic_algorithms_enabled()
    torch.set_deterministic_debug_mode(mode)
