"""The notebooks run from top to bottom; tests/platform/api/test_script.py runs first_steps.ipynb."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[2] / "experiments" / "notebooks"


@pytest.mark.slow
def test_global_or_episodic_runs(tmp_path: Path) -> None:
    notebook = nbformat.read(FOLDER / "global_or_episodic.ipynb", as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in cells), "strip the outputs"
    cells[0].source = cells[0].source.replace("EPISODES = 100", "EPISODES = 20")
    NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    (scopes,) = [output.text for cell in cells for output in cell.outputs if output.output_type == "stream"]
    assert [line.split()[0] for line in scopes.splitlines()] == ["global", "episodic", "combined"]
    assert any("image/png" in output.get("data", {}) for cell in cells for output in cell.outputs)


def test_every_notebook_is_tested() -> None:
    assert {path.name for path in FOLDER.glob("*.ipynb")} == {"first_steps.ipynb", "global_or_episodic.ipynb"}
