"""One thread for the matrix products of NumPy and SciPy while bonuses are computed.

Their matrices are small. With a thread per core an e3b run took five times the CPU time: between products, threads
busy-wait for the next one.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

try:
    import threadpoolctl
except ModuleNotFoundError:  # comes with the extras that train
    threadpoolctl = None


def one_blas_thread() -> AbstractContextManager[Any]:
    """Within this context, one thread each; PyTorch keeps its own number."""
    if threadpoolctl is None:
        return nullcontext()
    return _libraries("scipy.linalg" in sys.modules).limit(limits=1, user_api="blas")


@cache
def _libraries(_with_scipy: bool) -> Any:
    """The libraries loaded so far; SciPy's comes later than NumPy's."""
    return threadpoolctl.ThreadpoolController()
