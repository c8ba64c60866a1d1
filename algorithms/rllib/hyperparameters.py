"""Hyperparameters, each declared once with its type, range, meaning and source.

These classes define the attributes of configs, the defaults that presets change, the values `--set` accepts, and what
JSON, MLflow and `bonuslab presets` list. Names are RLlib's where RLlib has one.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Generic, Literal, Self, TypeVar, get_args, get_origin, get_type_hints

from bonuslab.envs.errors import InvalidInput, unknown

OTHER_NAMES = {
    "learning_rate": "lr",
    "discount": "gamma",
    "max_gradient_norm": "grad_clip",
    "epochs": "num_epochs",
    "minibatches": "num_minibatches",
    "unroll_length": "rollout_fragment_length",
    "num_envs": "num_envs_per_env_runner",
    "entropy_cost": "entropy_coeff",
    "baseline_cost": "vf_loss_coeff",
    "gae_lambda": "lambda_",
    "evaluation_episodes": "evaluation_duration",
    "intrinsic_coefficient": "coefficient",
    "lambda": "lambda_",
    "max_grad_norm": "grad_clip",
    "num_sgd_iter": "num_epochs",
    "n_epochs": "num_epochs",
    "update_epochs": "num_epochs",
    "num_steps": "rollout_fragment_length",
    "n_steps": "rollout_fragment_length",
    "ent_coef": "entropy_coeff",
    "vf_coef": "vf_loss_coeff",
    "clip_coef": "clip_param",
    "clip_range": "clip_param",
    "clip_rewards": "reward_clip",
    "opt_type": "optimiser",
    "decay": "rmsprop_smoothing",
    "momentum": "rmsprop_momentum",
    "epsilon": "rmsprop_epsilon",
    "use_lstm": "recurrent",
    "model": "network",
    "total_timesteps": "total_env_steps",
}
"""Names in other libraries; an error message suggests ours."""
_BATCH = "a batch has rollout_fragment_length × num_envs_per_env_runner steps; set these two"
_PROCESSES = "--resources decides how many processes a run has, and in a grid --cpus-per-trial"
_MINIBATCH = "a minibatch is a batch divided by num_minibatches; set that"
DERIVED = {
    "train_batch_size": _BATCH,
    "train_batch_size_per_learner": _BATCH,
    "batch_size": _BATCH,
    "minibatch_size": _MINIBATCH,
    "sgd_minibatch_size": _MINIBATCH,
    **dict.fromkeys(("num_env_runners", "num_rollout_workers", "num_workers"), _PROCESSES),
    "seed": "it has an option of its own: --seed, in a grid --seeds",
    "contexts": "it has an option of its own: --contexts",
    "max_steps": "it is an environment setting: --env max_steps=N",
}
"""Names in other libraries of what follows from our hyperparameters, and settings that are not hyperparameters."""

MAX_INTEGER = 2**53
"""Largest whole number: above it, floats skip some."""


@dataclass(frozen=True)
class Spec:
    """Meaning, source and range of a hyperparameter."""

    meaning: str
    source: str
    """Source of the default."""
    low: float
    high: float
    above: float
    """Exclusive lower bound."""

    @property
    def allowed(self) -> str:
        """The range in words."""
        if self.above > -math.inf:
            return f"more than {self.above:,.12g}" + (f", at most {self.high:,.12g}" if self.high < math.inf else "")
        return f"from {self.low:,.12g} to {self.high:,.12g}" if self.high < math.inf else f"{self.low:,.12g} or more"

    def allows(self, value: float) -> bool:
        """Whether a finite number is in range."""
        return math.isfinite(value) and self.low <= value <= self.high and value > self.above


def hyperparameter(
    default: Any, meaning: str, source: str, *, low: float = 0, high: float = math.inf, above: float = -math.inf
) -> Any:
    """Declare a field of a `Hyperparameters` class."""
    return dataclasses.field(default=default, metadata={"spec": Spec(meaning, source, low, high, above)})


_TABLE = "paper, table Common IMPALA Hyperparameters"
_ARCHITECTURE = "paper, appendix Architecture Details"


@dataclass(frozen=True, kw_only=True)
class Hyperparameters:
    """Hyperparameters of every algorithm. The defaults are the paper's for MiniHack."""

    network: str = hyperparameter(
        "paper",
        "network family of the policy; auto: what suits the observations",
        f"{_ARCHITECTURE}; hidden size 1024: released code",
    )
    recurrent: bool = hyperparameter(True, "whether the policy has an LSTM", _ARCHITECTURE)
    optimiser: Literal["rmsprop", "adam"] = hyperparameter("rmsprop", "optimiser of the policy", _TABLE)
    lr: float = hyperparameter(1e-4, "learning rate", _TABLE, above=0)
    rmsprop_smoothing: float = hyperparameter(0.99, "α of RMSProp", _TABLE, high=1)
    rmsprop_momentum: float = hyperparameter(0.0, "momentum of RMSProp", _TABLE, high=1)
    rmsprop_epsilon: float = hyperparameter(1e-5, "ε of RMSProp", _TABLE, above=0)
    adam_epsilon: float = hyperparameter(1e-8, "ε of Adam", "PyTorch's default", above=0)
    grad_clip: float | None = hyperparameter(40.0, "maximum gradient norm", _TABLE, above=0)
    gamma: float = hyperparameter(0.99, "discount factor", _TABLE, high=1)
    entropy_coeff: float = hyperparameter(0.005, "weight of the entropy in the loss", _TABLE)
    vf_loss_coeff: float = hyperparameter(0.5, "weight of the value loss ½ (target − V)²", _TABLE)
    bootstrap_truncated: bool = hyperparameter(
        False,
        "whether returns continue beyond a step limit, with the value of the final state",
        "released code: a step limit ends the episode",
    )
    lambda_: float = hyperparameter(1.0, "λ of V-trace or GAE", "IMPALA: 1", high=1)
    rollout_fragment_length: int = hyperparameter(80, "steps per fragment and env", _TABLE, low=1, high=2**20)
    num_envs_per_env_runner: int = hyperparameter(
        8,
        "envs per runner; a fragment contains all of them",
        "released code: 8 unrolls",
        low=1,
        high=2**20,
    )
    num_epochs: int = hyperparameter(1, "epochs over each batch", "released code", low=1)
    num_minibatches: int = hyperparameter(
        1, "minibatches per epoch; each has all steps of some envs", "released code", low=1
    )
    normalise_advantages: bool = hyperparameter(False, "standardise advantages", "released code: no")
    normalise: Literal["std", "reference", "return", "none"] = hyperparameter(
        "reference",
        "running deviation that divides the bonus: true (std), as released (reference), of discounted returns, or none",
        "released code; the paper says std",
    )
    normalise_at: Literal["combined", "terms"] = hyperparameter(
        "combined", "normalise the whole expression or each of its terms", "released code"
    )
    coefficient: float = hyperparameter(
        1.0, "weight of the (normalised) bonus in the reward", "paper, tables of E3B, RND, NovelD and AGAC"
    )
    reward_clip: float | None = hyperparameter(1.0, "clip of the total reward", "released code", above=0)
    bonus_variant: Literal["ours", "minihack", "habitat"] = hyperparameter(
        "minihack",
        "whose details bonuses follow where an expression sets none: ours, or the authors' MiniHack or Habitat program",
        "released code",
    )
    bonus_grad_clip: float = hyperparameter(
        40.0, "maximum gradient norm of each bonus network", "released code", above=0
    )
    bonus_updates: int = hyperparameter(1, "updates of the bonus models per fragment", "released code", low=1)
    bonus_network: str | None = hyperparameter(
        None, "network family of the bonus models; none: the policy's", _ARCHITECTURE
    )
    evaluation_duration: int = hyperparameter(
        32, "episodes per evaluation on held-out contexts, greedy and sampled each", "ours", low=1
    )
    total_env_steps: int = hyperparameter(50_000_000, "environment steps per run", "paper, RL Hyperparameters", low=1)

    def changed(self, **changes: Any) -> Self:
        """A copy with some values changed."""
        for name in changes:
            require_known(type(self), name)
        return dataclasses.replace(self, **changes)

    def check(self) -> None:
        """Raise `InvalidInput` for a value of the wrong type or out of range."""
        for name, kind in types_of(type(self)).items():
            _check(name, getattr(self, name), kind, specs_of(type(self))[name])


H = TypeVar("H", bound=Hyperparameters)


@dataclass(frozen=True)
class Preset(Generic[H]):
    """A named set of hyperparameters, with the sources of all that differ from the defaults."""

    name: str
    description: str
    values: H
    sources: Mapping[str, str]

    def source(self, name: str) -> str:
        """Source of one value."""
        return self.sources.get(name) or specs_of(type(self.values))[name].source


def preset(
    name: str,
    description: str,
    base: H | Preset[H],
    source: str,
    sources: Mapping[str, str] | None = None,
    **values: Any,
) -> Preset[H]:
    """`base` with some `values` changed; `source` applies to those without an entry in `sources`."""
    start, inherited = (base.values, base.sources) if isinstance(base, Preset) else (base, {})
    found = {**inherited, **dict.fromkeys(values, source), **(sources or {})}
    return Preset(name, description, start.changed(**values), MappingProxyType(found))


def specs_of(kind: type[Hyperparameters]) -> dict[str, Spec]:
    """Specifications by name."""
    return {item.name: item.metadata["spec"] for item in dataclasses.fields(kind)}


def types_of(kind: type[Hyperparameters]) -> dict[str, Any]:
    """Types by name."""
    hints = get_type_hints(kind)
    return {item.name: hints[item.name] for item in dataclasses.fields(kind)}


def require_known(kind: type[Hyperparameters], name: str, besides: Iterable[str] = ()) -> None:
    """Raise `InvalidInput` for an unknown name; it suggests similar hyperparameters and settings (`besides`)."""
    known = specs_of(kind)
    if name in known:
        return
    for other in get_close_matches(name, OTHER_NAMES, 1, cutoff=0.85):
        if OTHER_NAMES[other] in known and not get_close_matches(name, known, cutoff=0.85):
            raise InvalidInput(f"unknown hyperparameter {name!r}; it is called {OTHER_NAMES[other]} here")
    if name in DERIVED:
        raise InvalidInput(f"unknown hyperparameter {name!r}; {DERIVED[name]}")
    raise unknown("setting" if besides else "hyperparameter", name, {*known, *besides})


def parse_value(kind: type[Hyperparameters], name: str, text: str) -> Any:
    """The value of `--set name=text`."""
    require_known(kind, name)
    wanted, optional = _without_none(types_of(kind)[name])
    if optional and text.lower() == "none":
        return None
    if get_origin(wanted) is Literal:
        if text not in get_args(wanted):
            raise unknown(name, text, get_args(wanted))
        return text
    if wanted is bool:
        if text.lower() not in ("true", "false"):
            raise InvalidInput(f"invalid {name}={text!r}; allowed: true, false")
        return text.lower() == "true"
    try:
        return wanted(text.replace("_", "") if wanted is int else text)
    except ValueError as error:
        raise InvalidInput(f"invalid {name}={text!r}; it must be of type {wanted.__name__}") from error


def _check(name: str, value: Any, kind: Any, spec: Spec) -> None:
    wanted, optional = _without_none(kind)
    if value is None and optional:
        return
    if get_origin(wanted) is Literal:
        if value not in get_args(wanted):
            raise unknown(name, value, get_args(wanted))
    elif wanted in (int, float):
        fits = isinstance(value, int if wanted is int else int | float) and not isinstance(value, bool)
        if fits and wanted is int and value > MAX_INTEGER:
            raise InvalidInput(f"invalid {name}={value!r}; it must be at most {MAX_INTEGER}")
        if not fits or not spec.allows(value):
            raise InvalidInput(f"invalid {name}={value!r}; allowed: {spec.allowed}")
    elif not isinstance(value, wanted):
        raise InvalidInput(f"invalid {name}={value!r}; it must be of type {wanted.__name__}")


def _without_none(kind: Any) -> tuple[Any, bool]:
    """Split `X | None` into X and True."""
    choices = get_args(kind)
    if get_origin(kind) is Literal or type(None) not in choices:
        return kind, False
    return next(choice for choice in choices if choice is not type(None)), True
