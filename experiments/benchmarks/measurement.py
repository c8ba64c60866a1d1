"""One measured quantity, ours beside a peer's from the same run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Measurement:
    """Our value of one quantity and a peer's."""

    name: str
    ours: float
    peer: float | None
    """None if there is no peer."""
    unit: str
    higher_is_better: bool = False

    @property
    def ratio(self) -> float | None:
        """How many times better ours is; None without a peer, or if one of them did nothing in the time given."""
        if not self.peer or not self.ours:
            return None
        return self.ours / self.peer if self.higher_is_better else self.peer / self.ours

    def row(self) -> dict[str, Any]:
        """The form written by `--json`."""
        return asdict(self) | {"ratio": self.ratio}

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Measurement:
        """The inverse of `row`."""
        return cls(**{field.name: row[field.name] for field in fields(cls)})
