"""The triangular root of a covariance matrix, updated by blocks of rows with orthogonal transformations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy  # imports scipy.linalg on first use, which costs 0.1 s

Array = np.ndarray
BLOCK_ROWS = 128
"""Rows per update. More make the d × d update cheaper and the bonuses of a block more expensive."""
_PANEL = 32


@dataclass(frozen=True)
class CovarianceRoot:
    """Upper-triangular R with RᵀR = I + FᵀF, with F [t, d] all rows so far.

    New rows X give R' by the QR factorisation [R; X] = QR' (LAPACK's `tpqrt`, 2 d² operations per row), so RᵀR is never
    formed or inverted. The update is orthogonal: it neither squares the condition number nor drifts, and the relative
    error after millions of rows is about 1e-12. The diagonal grows from 1, so R is never singular.
    """

    upper: Array
    """[d, d] float64, column-major."""

    @classmethod
    def identity(cls, size: int) -> CovarianceRoot:
        """The root before any row."""
        return cls(np.eye(size, order="F"))

    def extend(self, rows: Array) -> tuple[Array, CovarianceRoot]:
        """xᵀ(RᵀR)⁻¹x of each row x of [m, d] against all earlier rows, and the root with all rows added."""
        bonus = np.empty(len(rows))
        root = self
        for start in range(0, len(rows), BLOCK_ROWS):
            block = rows[start : start + BLOCK_ROWS]
            bonus[start : start + BLOCK_ROWS] = root.bonuses(block)
            root = root.add(block)
        return bonus, root

    def bonuses(self, rows: Array) -> Array:
        """[m]: the bonus of each row against all earlier rows, including those of the block."""
        whitened = scipy.linalg.blas.dtrsm(1.0, self.upper, rows.T, trans_a=1)  # [d, m] R⁻ᵀXᵀ
        return innovations(whitened)

    def add(self, rows: Array) -> CovarianceRoot:
        """The root with `rows` [m, d] added."""
        size = len(self.upper)
        upper, _, _, info = scipy.linalg.lapack.dtpqrt(0, min(_PANEL, size), self.upper, np.asfortranarray(rows))
        _require_success(info)
        return CovarianceRoot(upper)


def innovations(columns: Array) -> Array:
    """[m]: yᵀ(I + YᵀY)⁻¹y of each column y of [d, m], with Y the columns before it.

    The squared diagonal of the QR factor of [I; columns] is 1 + bonus. `tpqrt` only adds to the identity's diagonal, so
    bonuses are never negative, however large or similar the columns are.
    """
    m = columns.shape[1]
    energy = np.einsum("dm,dm->m", columns, columns)
    upper, _, _, info = scipy.linalg.lapack.dtpqrt(0, min(_PANEL, m), np.eye(m, order="F"), columns)
    _require_success(info)
    return bonus_of_factor(energy, np.square(np.triu(upper, 1)).sum(axis=0), np.diagonal(upper))


def bonus_of_factor(energy: Array, explained: Array, diagonal: Array) -> Array:
    """[m]: the bonus M_tt² − 1 = ‖y_t‖² − Σ_{s<t} M_ts², by the more accurate side.

    `energy` is ‖y_t‖², `explained` the sum, `diagonal` M_tt.
    """
    return np.maximum(np.where(energy < 1, energy - explained, np.square(diagonal) - 1), 0.0)


def _require_success(info: int) -> None:
    if info != 0:
        raise ArithmeticError(f"LAPACK's tpqrt rejected argument {-info}")
