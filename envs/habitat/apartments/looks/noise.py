"""Random fields that repeat without a seam: the raw material of every texture."""

from __future__ import annotations

import numpy as np

SIZE = 128
"""Width and height of a texture."""

Field = np.ndarray
"""[SIZE, SIZE] float64, mostly within [0, 1]; row 0 is the top."""


def noise(
    rng: np.random.Generator, roughness: float = 1.0, along: float = 1.0, shape: tuple[int, int] = (SIZE, SIZE)
) -> Field:
    """A field of values in [0, 1] whose amplitudes fall as frequency**-(1 + roughness).

    `along` > 1 stretches it into fibres that run along the rows, as in wood.
    """
    rows, columns = np.fft.fftfreq(shape[0])[:, None], np.fft.rfftfreq(shape[1])[None, :]
    frequency = np.hypot(rows, columns * along)
    frequency[0, 0] = 1.0
    spectrum = np.fft.rfft2(rng.standard_normal(shape)) * frequency ** -(1.0 + roughness)
    spectrum[0, 0] = 0.0
    field = np.fft.irfft2(spectrum, shape)
    return np.clip(0.5 + field / (5.0 * field.std()), 0.0, 1.0)


def coordinates() -> tuple[Field, Field]:
    """(u, v) of every texel's centre, in [0, 1): u to the right, v downwards."""
    line = (np.arange(SIZE) + 0.5) / SIZE
    return np.broadcast_to(line[None, :], (SIZE, SIZE)), np.broadcast_to(line[:, None], (SIZE, SIZE))


def mix(second: Field, third: Field | float = 0.0) -> np.ndarray:
    """[SIZE, SIZE, 3]: weights of a material's three colours; what the other two leave is the first's."""
    second, third = np.broadcast_arrays(np.clip(second, 0, 1), np.clip(third, 0, 1))
    return np.stack([(1 - second) * (1 - third), second * (1 - third), third], axis=-1)


def lines(position: Field, period: float, width: float) -> Field:
    """1 within `width` / 2 of every multiple of `period`, 0 elsewhere."""
    away = np.abs((position / period + 0.5) % 1.0 - 0.5) * period
    return (away < width / 2).astype(float)


def smooth_step(low: float, high: float, value: Field) -> Field:
    """0 below `low`, 1 above `high`, smooth between."""
    share = np.clip((value - low) / (high - low), 0.0, 1.0)
    return share * share * (3.0 - 2.0 * share)
