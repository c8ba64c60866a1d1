"""The triangular root of a covariance matrix, updated by blocks of rows with orthogonal transformations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

try:
    import scipy  # imports scipy.linalg on first use, which costs 0.1 s
except ModuleNotFoundError:  # an extra of bonuslab
    scipy = None

Array = np.ndarray
BLOCK_ROWS = 128
"""Rows per update. More make the d × d update cheaper and the bonuses of a block more expensive."""
_PANEL = 32


@dataclass(frozen=True)
class CovarianceRoot:
    """Upper-triangular R with RᵀR = I + FᵀF, with F [t, d] all rows so far.

    New rows X give R' by the QR factorisation [R; X] = QR', so RᵀR is never formed or inverted. The update is
    orthogonal: it neither squares the condition number nor drifts, and the relative error after millions of rows is
    about 1e-12. The diagonal of RᵀR grows from 1, so R is never singular.
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
        return innovations(solve_lower(self.upper.T, rows.T))  # of R⁻ᵀXᵀ [d, m]

    def add(self, rows: Array) -> CovarianceRoot:
        """The root with `rows` [m, d] added."""
        return CovarianceRoot(stacked_root(self.upper, rows))


def innovations(columns: Array) -> Array:
    """[m]: yᵀ(I + YᵀY)⁻¹y of each column y of [d, m], with Y the columns before it.

    The squared diagonal of the QR factor of [I; columns] is 1 + bonus, however large or similar the columns are.
    """
    energy = np.einsum("dm,dm->m", columns, columns)
    upper = stacked_root(np.eye(columns.shape[1], order="F"), columns)
    return bonus_of_factor(energy, np.square(np.triu(upper, 1)).sum(axis=0), np.diagonal(upper))


def bonus_of_factor(energy: Array, explained: Array, diagonal: Array) -> Array:
    """[m]: the bonus M_tt² − 1 = ‖y_t‖² − Σ_{s<t} M_ts², by the more accurate side.

    `energy` is ‖y_t‖², `explained` the sum, `diagonal` M_tt.
    """
    return np.maximum(np.where(energy < 1, energy - explained, np.square(diagonal) - 1), 0.0)


def solve_lower(lower: Array, right: Array) -> Array:
    """[t, m]: L⁻¹B for a lower-triangular L [t, t]."""
    return torch.linalg.solve_triangular(torch.from_numpy(lower), torch.from_numpy(right), upper=False).numpy()


def stacked_root(upper: Array, rows: Array) -> Array:
    """[d, d]: an upper-triangular R' with R'ᵀR' = RᵀR + XᵀX for R [d, d] and X [m, d].

    LAPACK's `tpqrt` leaves the zeros below R out: 2 d² operations per row. Without SciPy, which has it, an update by
    32 to 128 rows took 3 to 13 times as long.
    """
    if scipy is None:
        return np.asfortranarray(np.linalg.qr(np.concatenate([upper, rows]), mode="r"))
    result, _, _, info = scipy.linalg.lapack.dtpqrt(0, min(_PANEL, len(upper)), upper, np.asfortranarray(rows))
    if info != 0:
        raise ArithmeticError(f"LAPACK's tpqrt rejected argument {-info}")
    return result
