"""One measured quantity, ours beside a peer's from the same run."""

from __future__ import annotations

from dataclasses import dataclass


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
        """How many times better ours is."""
        if self.peer is None:
            return None
        return self.ours / self.peer if self.higher_is_better else self.peer / self.ours

    def row(self) -> dict[str, object]:
        """The form written by `--json`."""
        return {"name": self.name, "ours": self.ours, "peer": self.peer, "unit": self.unit, "ratio": self.ratio}
