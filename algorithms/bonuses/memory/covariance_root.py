"""The triangular root of a covariance matrix, extended by blocks of rows with orthogonal transformations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas, lapack

Array = np.ndarray
BLOCK_ROWS = 128
"""Rows handled at once. More make the d × d update cheaper and the bonuses of a block dearer."""
_PANEL = 32


@dataclass(frozen=True)
class CovarianceRoot:
    """Upper-triangular R with RᵀR = I + FᵀF, where F are all the rows [t, d] seen so far.

    New rows X give R' by the QR factorisation [R; X] = QR' (LAPACK's `tpqrt`, 2 d² operations a row), so RᵀR is never
    formed or inverted. Being orthogonal, the update neither squares the condition number nor drifts: the relative
    error after millions of rows is about 1e-12. The diagonal only grows from 1, so R is never singular.
    """

    upper: Array
    """[d, d] float64, column-major."""

    @classmethod
    def identity(cls, size: int) -> CovarianceRoot:
        """Before any row has been seen."""
        return cls(np.eye(size, order="F"))

    def extend(self, rows: Array) -> tuple[Array, CovarianceRoot]:
        """xᵀ(RᵀR)⁻¹x of each row x of [m, d] against all rows before it, and the root with all of them added."""
        bonus = np.empty(len(rows))
        root = self
        for start in range(0, len(rows), BLOCK_ROWS):
            block = rows[start : start + BLOCK_ROWS]
            bonus[start : start + BLOCK_ROWS] = root.bonuses(block)
            root = root.add(block)
        return bonus, root

    def bonuses(self, rows: Array) -> Array:
        """[m]: the bonus of each row against the rows seen so far and the block's earlier rows."""
        whitened = blas.dtrsm(1.0, self.upper, rows.T, trans_a=1)  # [d, m] R⁻ᵀXᵀ
        return innovations(whitened)

    def add(self, rows: Array) -> CovarianceRoot:
        """The root with `rows` [m, d] among the rows seen."""
        size = len(self.upper)
        upper, _, _, info = lapack.dtpqrt(0, min(_PANEL, size), self.upper, np.asfortranarray(rows))
        _require_success(info)
        return CovarianceRoot(upper)


def innovations(columns: Array) -> Array:
    """[m]: yᵀ(I + YᵀY)⁻¹y of each column y of [d, m], where Y are the columns before it.

    The QR factorisation of [I; columns] has 1 + bonus as the squares of its diagonal. `tpqrt` only ever adds to the
    identity's diagonal, so that bonuses cannot turn negative, however large or alike the columns are.
    """
    m = columns.shape[1]
    energy = np.einsum("dm,dm->m", columns, columns)
    upper, _, _, info = lapack.dtpqrt(0, min(_PANEL, m), np.eye(m, order="F"), columns)
    _require_success(info)
    return bonus_of_factor(energy, np.square(np.triu(upper, 1)).sum(axis=0), np.diagonal(upper))


def bonus_of_factor(energy: Array, explained: Array, diagonal: Array) -> Array:
    """[m]: the bonus M_tt² − 1 = ‖y_t‖² − Σ_{s<t} M_ts², by whichever side loses fewer digits.

    `energy` is ‖y_t‖², `explained` the sum, `diagonal` M_tt.
    """
    return np.maximum(np.where(energy < 1, energy - explained, np.square(diagonal) - 1), 0.0)


def _require_success(info: int) -> None:
    if info != 0:
        raise ArithmeticError(f"LAPACK's tpqrt refused argument {-info}")
