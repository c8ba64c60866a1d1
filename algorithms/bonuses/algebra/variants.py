"""Parameters of bonuses whose default depends on whose details a run follows.

The authors' MiniHack and Habitat programs differ from each other and from ours. `bonus_variant` selects one for a run:
every parameter that an expression does not set then takes that program's value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

VARIANTS = ("ours", "minihack", "habitat")


@dataclass(frozen=True)
class Varying:
    """The defaults of one parameter."""

    ours: Any
    others: tuple[tuple[str, Any], ...]

    def of(self, variant: str) -> Any:
        """The default in this variant."""
        return dict(self.others).get(variant, self.ours)

    def __str__(self) -> str:
        return ", ".join([str(self.ours), *(f"{variant}: {value}" for variant, value in self.others)])


def varies(ours: Any, **others: Any) -> Any:
    """Declare a parameter's defaults: `learning_rate: float = varies(1e-4, habitat=2.5e-4)`."""
    assert set(others) <= set(VARIANTS) - {"ours"}
    return Varying(ours, tuple(others.items()))
