"""The progress of a run on one line: redrawn in place in a terminal, printed now and then when piped."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Mapping
from io import StringIO
from typing import TextIO

from bonuslab.platform.run.results import FEWEST_EPISODES, outcome_text

PRINT_INTERVAL_SECONDS = 10.0
"""Between lines if the output is not a terminal."""
BAR_CELLS = 20
RATE_SMOOTHING = 0.8
"""Weight of the past in the moving average of the speed."""
_BLOCKS = " ▏▎▍▌▋▊▉█"
_START_OF_LINE, _CLEAR_TO_END = "\r", "\033[K"


class Progress:
    """Shows a run's progress on a stream; results once `fewest_episodes` have ended."""

    def __init__(self, total_steps: int, file: TextIO | None = None, fewest_episodes: int = FEWEST_EPISODES) -> None:
        self._total = total_steps
        self._fewest = fewest_episodes
        self._file = file or sys.stdout
        self._live = self._file.isatty()
        self._open = False
        self._rate: float | None = None
        self._printed_at = -PRINT_INTERVAL_SECONDS

    @classmethod
    def silent(cls) -> Progress:
        """A display that shows nothing."""
        return cls(1, StringIO())

    def waiting(self, what: str) -> None:
        """Show what the run is waiting for."""
        if self._live:
            self._redraw(f"{what} …")
        else:
            self._write(f"{what} …\n")

    def hint(self, what: str) -> None:
        """The same, but only in a terminal."""
        if self._live:
            self.waiting(what)

    def update(self, row: Mapping[str, float]) -> None:
        """Show the newest row of progress.csv."""
        speed = row["env_steps_per_second"]
        self._rate = speed if self._rate is None else RATE_SMOOTHING * self._rate + (1 - RATE_SMOOTHING) * speed
        now = time.monotonic()
        last = row["env_steps"] >= self._total
        if self._live:
            bar = f"{progress_bar(row['env_steps'] / self._total)} "
            self._redraw(bar + progress_text(row, self._total, self._rate, self._fewest))
        elif last or now - self._printed_at >= PRINT_INTERVAL_SECONDS:
            self._printed_at = now
            self._write(progress_text(row, self._total, self._rate, self._fewest) + "\n")

    def note(self, text: str) -> None:
        """Print a line that stays."""
        self.end_line()
        self._write(f"{text}\n")

    def clear(self) -> None:
        """Erase the current line."""
        if self._open:
            self._write(f"{_START_OF_LINE}{_CLEAR_TO_END}")
            self._open = False

    def end_line(self) -> None:
        """Keep the current line and continue below it."""
        if self._open:
            self._write("\n")
            self._open = False

    def _redraw(self, line: str) -> None:
        # A line that wraps cannot be redrawn in place.
        room = max(20, shutil.get_terminal_size().columns - 1)
        self._write(f"{_START_OF_LINE}{line[:room]}{_CLEAR_TO_END}")
        self._open = True

    def _write(self, text: str) -> None:
        self._file.write(text)
        self._file.flush()


def progress_text(row: Mapping[str, float], total: int, rate: float, fewest_episodes: int = FEWEST_EPISODES) -> str:
    """Steps, speed, episode outcome, bonus and time left; a dash where unknown."""
    steps = int(row["env_steps"])
    left = max(0, total - steps) / rate if rate > 0 else float("inf")
    parts = [
        f"{steps:,}/{total:,} steps",
        f"{row['env_steps_per_second']:,.0f}/s",
        outcome_text(row, fewest=fewest_episodes),
        f"bonus {row['bonus/mean']:.3g}" if "bonus/mean" in row else "bonus -",
        f"{duration(left)} left",
    ]
    return "  ".join(parts)


def progress_bar(fraction: float) -> str:
    """A bar with a resolution of an eighth of a cell."""
    eighths = round(min(1.0, max(0.0, fraction)) * BAR_CELLS * 8)
    full, rest = divmod(eighths, 8)
    bar = "█" * full + (_BLOCKS[rest] if rest else "")
    return f"{bar:<{BAR_CELLS}}▏"


def duration(seconds: float | None) -> str:
    """`1:05` or `2:03:04`; a dash if unknown or infinite."""
    if seconds is None or seconds == float("inf"):
        return "-"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
