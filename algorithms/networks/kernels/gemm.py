"""PyTorch's own matrix product, callable from compiled code.

A recurrence needs a small product at every step. Called from Python, each costs more in overhead than in arithmetic;
numba's own `np.dot` uses another library, whose threads PyTorch does not control.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bonuslab.envs.compiling import intrinsic, njit


@cache
def gemm() -> int | None:
    """Address of PyTorch's `sgemm_`, or None if this build of PyTorch does not export it."""
    for name in ("libtorch_cpu.so", "libtorch_cpu.dylib"):
        path = Path(torch.__file__).parent / "lib" / name
        if path.exists():
            function = getattr(ctypes.CDLL(str(path)), "sgemm_", None)
            return ctypes.cast(function, ctypes.c_void_p).value if function else None
    return None


_ARRAYS = (6, 8, 11)
"""Which of sgemm's parameters are arrays, given by their address; the others are numbers."""


@intrinsic
def _sgemm(_context, address, op_b, op_a, m, n, k, alpha, b, ldb, a, lda, beta, out, ldo):  # type: ignore[no-untyped-def]
    """Call BLAS at this address. Fortran takes everything by reference, so numbers go onto the stack.

    Numba's own wrapper for function pointers would look up its type at every call from Python.
    """
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        function, *values = arguments
        pointer = ir.IntType(8).as_pointer()
        references = [
            builder.inttoptr(value, pointer)
            if place in _ARRAYS
            else builder.bitcast(cgutils.alloca_once_value(builder, value), pointer)
            for place, value in enumerate(values)
        ]
        kind = ir.FunctionType(ir.VoidType(), [pointer] * len(values)).as_pointer()
        builder.call(builder.inttoptr(function, kind), references)
        return context.get_dummy_value()

    return types.void(address, op_b, op_a, m, n, k, alpha, b, ldb, a, lda, beta, out, ldo), generate


# BLAS stores columns first, so each of these computes outᵀ; "N" and "T" are its names for as stored and transposed.
_AS_STORED, _TRANSPOSED = np.uint8(ord("N")), np.uint8(ord("T"))


@njit(inline="always")
def add_product(gemm, a, b, keep, out):  # type: ignore[no-untyped-def]
    """out [n, m] = keep · out + a [n, k] @ b [k, m]; all are contiguous."""
    n, k, m = np.int32(a.shape[0]), np.int32(a.shape[1]), np.int32(out.shape[1])
    _call(gemm, _AS_STORED, _AS_STORED, m, n, k, b, m, a, k, keep, out)


@njit(inline="always")
def add_product_with_transposed(gemm, a, b, keep, out):  # type: ignore[no-untyped-def]
    """out [n, m] = keep · out + a [n, k] @ b [m, k]ᵀ."""
    n, k, m = np.int32(a.shape[0]), np.int32(a.shape[1]), np.int32(out.shape[1])
    _call(gemm, _TRANSPOSED, _AS_STORED, m, n, k, b, k, a, k, keep, out)


@njit(inline="always")
def add_product_of_transposed(gemm, a, b, keep, out):  # type: ignore[no-untyped-def]
    """out [n, m] = keep · out + a [k, n]ᵀ @ b [k, m]."""
    n, k, m = np.int32(a.shape[1]), np.int32(a.shape[0]), np.int32(out.shape[1])
    _call(gemm, _AS_STORED, _TRANSPOSED, m, n, k, b, m, a, n, keep, out)


@njit(inline="always")
def _call(gemm, op_b, op_a, m, n, k, b, ldb, a, lda, keep, out):  # type: ignore[no-untyped-def]
    b_at, a_at, out_at = b.ctypes.data, a.ctypes.data, out.ctypes.data
    _sgemm(gemm, op_b, op_a, m, n, k, np.float32(1), b_at, ldb, a_at, lda, np.float32(keep), out_at, m)  # type: ignore[call-arg]
