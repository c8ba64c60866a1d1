"""States of a fragment in the form that an encoder reads, prepared once for all epochs and minibatches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

from torch import Tensor


class States(ABC):
    """States of T + 1 rows of N envs."""

    @abstractmethod
    def of_envs(self, columns: Tensor) -> Self:
        """Those of some of the envs."""
