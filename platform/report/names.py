"""Names of bonuses in figures: line breaks in long ones, and their size."""

from __future__ import annotations

import re

LONGEST_LINE = 24
LETTER_EMS = 0.62
"""Approximate width of a letter in the figures' font."""


def wrapped(name: str) -> str:
    """A bonus expression with line breaks before operators or after commas where a line would be too long."""
    built: list[str] = []
    for part in re.split(r" (?=[*+] )|(?<=,) ", name):
        if built and len(built[-1]) + 1 + len(part) <= LONGEST_LINE:
            built[-1] += f" {part}"
        else:
            built.append(part)
    return "\n".join(built)


def lines(name: str) -> int:
    """How many lines a name takes."""
    return wrapped(name).count("\n") + 1


def text_inches(text: str, points: float) -> float:
    """Approximate width of a text, of its longest line."""
    return max(len(line) for line in text.split("\n")) * LETTER_EMS * points / 72
