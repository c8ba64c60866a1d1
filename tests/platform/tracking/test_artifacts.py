"""Files of runs in a store: a run of somebody else neither sends files of this user nor replaces them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bonuslab.platform.run.folder import GridFolder


def test_links_are_not_sent(grid: GridFolder, deliver: Callable[..., str | None], tmp_path: Path) -> None:
    finished, failed = grid.trials()[:2]
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "id_rsa").write_text("a secret")
    for link in (finished.video, failed.error_file):
        link.unlink(missing_ok=True)
        link.symlink_to(tmp_path / "home" / "id_rsa")
    grid.report.symlink_to(tmp_path / "home")
    assert deliver(grid) is None
    sent = [path for path in (grid.path / "mlartifacts").rglob("*") if path.is_file()]
    assert {path.name for path in sent} == {"grid.json", "trial.json"}


@pytest.mark.parametrize("way", ["link", "database"])
def test_nothing_is_written_outside(
    grid: GridFolder,
    deliver: Callable[..., str | None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    way: str,
) -> None:
    (tmp_path / "home").mkdir()
    if way == "link":
        (grid.path / "mlartifacts").symlink_to(tmp_path / "home")
    else:  # its runs say where their files are
        monkeypatch.setattr("bonuslab.platform.tracking.connection.PROXY", "mlflow-artifacts:/../../home/")
    assert "leads out of" in str(deliver(grid))
    assert list((tmp_path / "home").iterdir()) == []
