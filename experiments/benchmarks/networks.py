"""Networks on one core: the fast `paper` network beside its plain PyTorch definition with the same weights.

    python experiments/speed.py networks [--quick]

States come from a random policy on two tasks: a small room that is visible at once, and rooms with deadly lava, where
maps rarely repeat. Learning is one forward and backward pass over 8 envs of 80 + 1 steps, as in the paper. The peer
uses `nn.Conv2d` and `nn.LSTM`, the LSTM step by step, since episodes start inside an unroll. Times are CPU time per
state. The small network has no peer.

Results to expect (one core of a two-core AMD EPYC, full run, with other load on the machine): paper network, policy,
learning 1.9 and 3.1 ms per state on the two tasks against 18.6 and 19.0; acting with 32 envs 1.2 and 1.7 ms against 2.6
and 2.9; encoder, learning 0.5 and 1.6 ms against 9.5 and 7.9. Small network: learning 65 to 70 µs, acting with 32 envs
86 µs.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import partial

import numpy as np
import torch
from torch import Tensor

from bonuslab.algorithms.data.synthetic import OBSERVATION_SPACE
from bonuslab.algorithms.networks import PolicyNetwork, as_tensors, build_policy
from bonuslab.algorithms.networks.paper import PlainPaperEncoder
from bonuslab.envs.minihack.vector_env import MiniHackVectorEnv
from bonuslab.experiments.benchmarks.measurement import Measurement
from bonuslab.experiments.benchmarks.timing import best_cpu_seconds, single_thread

TASKS = ("Freeze-Horn-Restricted", "MultiRoom-N6-Lava")
T, N = 80, 8
ACTING_ENVS = (8, 32)
ACTING_STEPS = 5
_MILLI = "ms/frame"
_MICRO = "µs/frame"

States = dict[str, Tensor]
Unroll = Callable[[PolicyNetwork, States, Tensor], tuple[Tensor, Tensor]]


def run(quick: bool) -> list[Measurement]:
    """Measure everything on one core; about a minute when `quick`."""
    torch.manual_seed(0)
    with single_thread():
        paper = [row for task in TASKS[: 1 if quick else None] for row in _paper(task, quick)]
        return paper + _small(quick)


def _paper(task: str, quick: bool) -> list[Measurement]:
    steps, repeats = (T // 4, 1) if quick else (T, 3)
    states, first, num_actions = _play(task, N, steps)
    ours = build_policy("paper", OBSERVATION_SPACE, num_actions)
    plain = PolicyNetwork(PlainPaperEncoder(OBSERVATION_SPACE), num_actions, core_size=1024)
    plain.load_state_dict(ours.state_dict())
    _print_error(task, ours, plain, states, first)

    frames = first.numel()
    flat = {key: rows.flatten(0, 1) for key, rows in states.items()}

    def beside(name: str, one: Callable[[], object], other: Callable[[], object], count: int) -> Measurement:
        print(f"networks: {task}: {name}", flush=True)
        fast, slow = (best_cpu_seconds(call, repeats) * 1e3 / count for call in (one, other))
        return Measurement(f"{task}: {name}", fast, slow, _MILLI)

    def encode(policy: PolicyNetwork) -> None:
        with torch.inference_mode():
            policy.encoder(flat)

    def learn_encoder(policy: PolicyNetwork) -> None:
        policy.encoder(flat).sum().backward()

    results = [
        beside(
            f"policy, learning on {steps + 1} × {N}",
            partial(_learn, _unroll, ours, states, first),
            partial(_learn, _plain_unroll, plain, states, first),
            frames,
        ),
        beside("encoder, learning", lambda: learn_encoder(ours), lambda: learn_encoder(plain), frames),
        beside("encoder, forward only", lambda: encode(ours), lambda: encode(plain), frames),
    ]
    for envs in ACTING_ENVS:
        batches, starts, _ = _play(task, envs, ACTING_STEPS)
        results.append(
            beside(
                f"policy, acting with {envs} envs",
                partial(_act, _unroll, ours, batches, starts),
                partial(_act, _plain_unroll, plain, batches, starts),
                starts.numel(),
            )
        )
    return results


def _small(quick: bool) -> list[Measurement]:
    """The small network: learning on 32 envs, acting with 32 and 64."""
    results = []
    for task in TASKS:
        states, first, num_actions = _play(task, 32, T // 4 if quick else T)
        policy = build_policy("small", OBSERVATION_SPACE, num_actions)
        seconds = best_cpu_seconds(partial(_learn, _unroll, policy, states, first), repeats=5)
        name = f"{task}: small policy, learning on {len(first)} × 32"
        results.append(Measurement(name, seconds * 1e6 / first.numel(), None, _MICRO))
        for envs in (32, 64):
            batches, starts, _ = _play(task, envs, ACTING_STEPS)
            seconds = best_cpu_seconds(partial(_act, _unroll, policy, batches, starts), repeats=5)
            name = f"{task}: small policy, acting with {envs} envs"
            results.append(Measurement(name, seconds * 1e6 / starts.numel(), None, _MICRO))
    return results


def _learn(unroll: Unroll, policy: PolicyNetwork, states: States, first: Tensor) -> None:
    _loss(*unroll(policy, states, first)).backward()


def _act(unroll: Unroll, policy: PolicyNetwork, states: States, first: Tensor) -> None:
    with torch.inference_mode():
        for t in range(len(first)):
            unroll(policy, {key: rows[t : t + 1] for key, rows in states.items()}, first[t : t + 1])


def _unroll(policy: PolicyNetwork, states: States, first: Tensor) -> tuple[Tensor, Tensor]:
    output = policy.unroll(states, first, policy.initial_state(first.shape[1]))
    return output.logits, output.value


def _plain_unroll(policy: PolicyNetwork, states: States, first: Tensor) -> tuple[Tensor, Tensor]:
    """The same with `nn.LSTM`, step by step."""
    features = policy.encoder({key: rows.flatten(0, 1) for key, rows in states.items()}).view(*first.shape, -1)
    assert policy.core is not None
    state = policy.core.initial_state(first.shape[1], features)
    outputs = []
    for t in range(len(first)):
        keep = (~first[t]).to(features.dtype).view(1, -1, 1)
        output, state = policy.core.layers(features[t : t + 1], (state[0] * keep, state[1] * keep))
        outputs.append(output)
    core = torch.cat(outputs)
    return policy.policy_head(core), policy.value_head(core).squeeze(-1)


def _loss(logits: Tensor, value: Tensor) -> Tensor:
    return torch.log_softmax(logits, -1).square().sum() + value.square().sum()


def _print_error(task: str, ours: PolicyNetwork, plain: PolicyNetwork, states: States, first: Tensor) -> None:
    """Print the largest difference in outputs, and in gradients relative to each parameter's largest."""
    outputs, expected = _unroll(ours, states, first), _plain_unroll(plain, states, first)
    _loss(*outputs).backward()
    _loss(*expected).backward()
    apart = max(float((one - other).detach().abs().max()) for one, other in zip(outputs, expected, strict=True))
    gradients = zip(ours.parameters(), plain.parameters(), strict=True)
    worst = max(float((a.grad - b.grad).abs().max() / b.grad.abs().max()) for a, b in gradients)  # type: ignore[operator,union-attr]
    print(
        f"networks: {task}: outputs differ by at most {apart:.1e}, gradients by {worst:.1e} of the largest", flush=True
    )
    for policy in (ours, plain):
        policy.zero_grad(set_to_none=True)


def _play(task: str, num_envs: int, num_steps: int) -> tuple[States, Tensor, int]:
    """States [T + 1, N, ...] and episode starts [T + 1, N] of a random policy, and the number of actions."""
    with closing(MiniHackVectorEnv(task, num_envs, seed=0)) as envs:
        num_actions = int(envs.action_space.n)
        rng = np.random.default_rng(0)
        rows = [{key: part.copy() for key, part in envs.reset().items()}]
        first = [np.ones(num_envs, bool)]
        for _ in range(num_steps):
            step = envs.step(rng.integers(num_actions, size=num_envs))
            rows.append({key: part.copy() for key, part in step.observations.items()})
            first.append(step.terminated | step.truncated)
    states = as_tensors({key: np.stack([row[key] for row in rows]) for key in rows[0]})
    return states, torch.as_tensor(np.stack(first)), num_actions
