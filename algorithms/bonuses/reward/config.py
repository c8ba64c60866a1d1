"""Which bonus an algorithm uses and how it is scaled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class BonusConfig:
    """The intrinsic reward of one run."""

    expression: str = "none"
    """The bonus as text, for example `e3b * rnd`."""
    coefficient: float = 1.0
    """Factor of the (normalised) bonus in the total reward. Paper: 1.0."""
    normalise: Literal["std", "reference", "return", "none"] = "reference"
    """Divide by a running deviation: the textbook's, the released code's, that of discounted sums, or not at all."""
    normalise_at: Literal["combined", "terms"] = "combined"
    """Normalise the whole expression, as the released code does, or each of its terms."""
    updates: int = 1
    """How often the bonus's models learn from each fragment. Paper: 1 on MiniHack, 3 on Habitat."""
    reward_clip: float | None = 1.0
    """Clip of the total reward to [−clip, clip] (released code: 1); None for no clip."""
    network: str = "paper"
    """Network family of the bonus's models."""
    plugins: tuple[str, ...] = ()
    """Python files that register further bonuses."""
