"""The page of one trial: curves, error, video and links."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any

from bonuslab.platform.board.curves import Curves
from bonuslab.platform.board.layout import metric_of
from bonuslab.platform.board.links import mlflow_run, web_address
from bonuslab.platform.board.trial_watch import TrialWatch, stamp
from bonuslab.platform.run.folder import GridDescription, TrialDescription
from bonuslab.platform.run.redaction import redacted
from bonuslab.platform.run.results import fewest_episodes
from bonuslab.platform.tracking.store import DATABASE, OPTION

LABELS = ("task", "contexts", "bonus", "scope", "seed", "variant", "suite")
"""Labels of a trial that are shown."""
KEPT_CURVES = 8
"""Trials whose curves stay in memory, the most recently viewed."""
LONGEST_TRACEBACK = 20_000
"""Characters, from the end of a traceback, which says what went wrong."""


class TrialPages:
    """Builds the data of trial pages; keeps the curves of the last few."""

    def __init__(self, mlflow_ui: str | None = None) -> None:
        self._mlflow_ui = mlflow_ui
        self._curves: OrderedDict[Path, Curves] = OrderedDict()
        self._lock = threading.Lock()

    def tag(self, watch: TrialWatch) -> str:
        """Changes whenever the page of the trial does."""
        folder = watch.folder
        files = (folder.progress, folder.state_file, folder.error_file, folder.video, folder.tracking_file)
        return hashlib.sha1(repr([stamp(file) for file in files]).encode()).hexdigest()[:16]

    def page(self, grid: GridDescription, trial: TrialDescription, watch: TrialWatch) -> dict[str, Any]:
        """Everything about one trial."""
        video = stamp(watch.folder.video)
        return {
            "labels": {name: str(trial.labels[name]) for name in LABELS if trial.labels.get(name)},
            "cell": watch.cell(),
            "traceback": _traceback(watch.folder.error_file),
            # The time of the video: a new one has a new address.
            "video": None if video is None else video[2],
            "mlflow": self._mlflow(grid, watch),
            "ray": web_address(grid.options.get("ray_dashboard")),
            "curves": self._curves_of(watch.folder.progress, metric_of(grid), fewest_episodes(trial.hyperparameters)),
        }

    def _mlflow(self, grid: GridDescription, watch: TrialWatch) -> dict[str, str]:
        """The trial's run; the address of a tracking server is in the grid's options."""
        store = str(grid.options.get(OPTION) or DATABASE)
        if stamp(watch.folder.tracking_file) is None:
            return {}
        return mlflow_run(watch.folder.tracking_file, store, self._mlflow_ui or web_address(store))

    def _curves_of(self, path: Path, metric: str, fewest: int) -> dict[str, Any]:
        with self._lock:
            curves = self._curves.pop(path, None) or Curves(path)
            self._curves[path] = curves
            if len(self._curves) > KEPT_CURVES:
                self._curves.popitem(last=False)
            if stamp(path) is not None:
                curves.refresh()
            return curves.as_data(metric, fewest=fewest)


def _traceback(file: Path) -> str:
    if stamp(file) is None:
        return ""
    try:
        text = file.read_text(errors="replace")
    except OSError:
        return ""
    text = redacted(text)
    return text if len(text) <= LONGEST_TRACEBACK else f"…\n{text[-LONGEST_TRACEBACK:]}"
