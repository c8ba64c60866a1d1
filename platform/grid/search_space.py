"""What a search tries, the same for every bonus: its space, samples, steps, seeds, scheduler and searcher."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from bonuslab.envs.errors import InvalidInput, unknown

if TYPE_CHECKING:
    from bonuslab.algorithms.bonuses import Bonus

# Experiment files and `bonuslab --help` import this module; Ray and PyTorch are imported where they are needed.

Settings = dict[str, Any]
"""`normalise`, `coefficient` and, for a sum of two terms, `beta`."""
SCHEDULERS = ("asha", "median", "none")
"""Those that only stop trials. Others pause them (HyperBand) or change their settings (population-based training)."""
EVEN, RANDOM = "even", "random"
DIGITS = 3
"""Significant digits of settings, to keep them readable."""


@dataclass(frozen=True)
class Space:
    """The settings to choose from."""

    normalise: Sequence[str] = ("std", "none")
    coefficient: tuple[float, float] = (0.001, 1.0)
    """Lowest and highest, log-uniform."""
    beta: tuple[float, float] = (1.0, 100_000.0)
    """Weight of the second term of a sum, log-uniform; the paper's range."""

    def __post_init__(self) -> None:
        if not self.normalise or len(set(self.normalise)) < len(self.normalise):
            raise InvalidInput("a search needs at least one normalisation, each once")
        for name in ("coefficient", "beta"):
            low, high = getattr(self, name)
            if not 0 < low <= high < math.inf:
                raise InvalidInput(f"invalid range of {name}, {low:g} to {high:g}: it must be positive and ascend")

    def domains(self, beta: bool) -> dict[str, Any]:
        """The space in Ray Tune's words."""
        from ray import tune

        found = {"normalise": tune.choice(list(self.normalise)), "coefficient": tune.loguniform(*self.coefficient)}
        return found | ({"beta": tune.loguniform(*self.beta)} if beta else {})

    def evenly(self, samples: int, seed: int, beta: bool) -> list[Settings]:
        """A Latin hypercube: normalisations in turn, for each of them evenly spaced coefficients in random order."""
        import numpy as np

        random = np.random.default_rng(seed)
        coefficients = {}
        for place, kind in enumerate(self.normalise):
            count = len(range(place, samples, len(self.normalise)))
            coefficients[kind] = _at(self.coefficient, (random.permutation(count) + 0.5) / count)
        betas = _at(self.beta, (random.permutation(samples) + 0.5) / samples)
        found = []
        for number in range(samples):
            turn, place = divmod(number, len(self.normalise))
            kind = self.normalise[place]
            own = {"normalise": kind, "coefficient": coefficients[kind][turn]}
            found.append(rounded(own | ({"beta": betas[number]} if beta else {})))
        return found

    def randomly(self, samples: int, seed: int, beta: bool) -> list[Settings]:
        """Independent draws from Ray Tune's distributions."""
        import numpy as np

        random = np.random.RandomState(seed)  # the kind that Tune expects
        domains = self.domains(True)
        drawn = [{name: domain.sample(random_state=random) for name, domain in domains.items()} for _ in range(samples)]
        return [rounded({name: value for name, value in one.items() if beta or name != "beta"}) for one in drawn]

    def text(self, beta: bool = False) -> str:
        """One line for people."""
        parts = [f"normalise in {', '.join(self.normalise)}", "coefficient {:g} to {:g}".format(*self.coefficient)]
        return "; ".join(parts + (["β {:g} to {:g}".format(*self.beta)] if beta else []))


@dataclass(frozen=True)
class Search:
    """A search: for every bonus the same space, number of samples, seeds and steps."""

    seeds: Sequence[int] = (101, 102)
    """Each sample is trained on all of them; the study must not use them."""
    samples: int = 8
    """Per bonus, task and number of contexts."""
    steps: int | None = None
    """Environment steps of each seed of a sample; None: as many as the study's trials."""
    space: Space = field(default_factory=Space)
    scheduler: str = "asha"
    searcher: str = EVEN
    """`even` (a Latin hypercube) and `random` try the same settings for every bonus; any other is a searcher of Ray
    Tune, such as `optuna`, one for each bonus."""
    grace: float = 0.25
    """Share of the steps before the scheduler may stop a sample."""
    metric: str = "win_rate"
    """Column of progress.csv to maximise."""
    seed: int = 0
    """Of the draws."""

    def __post_init__(self) -> None:
        if self.samples < 1:
            raise InvalidInput(f"a search needs at least one sample for each bonus, not {self.samples}")
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise InvalidInput("a search needs at least one search seed, each once")
        if self.scheduler not in SCHEDULERS:
            raise unknown("scheduler", self.scheduler, SCHEDULERS)
        if not 0 < self.grace <= 1:
            raise InvalidInput(f"invalid --grace {self.grace:g}; it is a share of the steps, above 0 and up to 1")

    def require_fresh(self, study_seeds: Sequence[int]) -> None:
        """Reject search seeds that the study uses: settings chosen on them would flatter the study."""
        shared = sorted(set(self.seeds) & set(study_seeds))
        if shared:
            words = ", ".join(map(str, shared))
            raise InvalidInput(f"search seeds {words} are seeds of the study; search on others")

    def draws(self, beta: bool) -> list[Settings] | None:
        """The settings of all samples if they are known in advance."""
        if self.searcher == EVEN:
            return self.space.evenly(self.samples, self.seed, beta)
        if self.searcher == RANDOM:
            return self.space.randomly(self.samples, self.seed, beta)
        return None

    def as_dict(self) -> dict[str, Any]:
        """JSON-serialisable values."""
        plain = asdict(self)
        return plain | {
            "seeds": list(self.seeds),
            "space": {name: list(value) for name, value in plain["space"].items()},
        }


def rounded(settings: Mapping[str, Any]) -> Settings:
    """Numbers with a few significant digits."""
    return {
        name: float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value for name, value in settings.items()
    }


def has_beta(bonus: Bonus) -> bool:
    """Whether a bonus is a sum of two terms, whose second has the weight β."""
    from bonuslab.algorithms.bonuses.algebra.combinators import Sum

    return isinstance(bonus, Sum) and len(bonus.children) == 2


def with_beta(bonus: Bonus, beta: float) -> Bonus:
    """`a + β · b` with another β."""
    from bonuslab.algorithms.bonuses.algebra.combinators import Product, add, multiply

    first, second = bonus.children  # type: ignore[attr-defined]
    plain = Product(1.0, second.children) if isinstance(second, Product) else second
    return add(first, multiply(plain, beta))


def _at(limits: tuple[float, float], shares: Any) -> list[float]:
    """Log-uniform quantiles."""
    low, high = map(math.log, limits)
    return [math.exp(low + share * (high - low)) for share in shares]
