"""One measured quantity, ours beside a peer's, both from the same run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Measurement:
    """Ours and a peer's value of one quantity."""

    name: str
    ours: float
    peer: float | None
    """None where there is nothing to compare with."""
    unit: str
    higher_is_better: bool = False

    @property
    def ratio(self) -> float | None:
        """How many times better ours is; above 1 means that ours is better."""
        if self.peer is None:
            return None
        return self.ours / self.peer if self.higher_is_better else self.peer / self.ours

    def row(self) -> dict[str, object]:
        """The form written by `--json`."""
        return {"name": self.name, "ours": self.ours, "peer": self.peer, "unit": self.unit, "ratio": self.ratio}
