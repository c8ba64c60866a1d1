"""The study of shared structure, small: what it writes, and that it says the same twice."""

from __future__ import annotations

import csv
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

from bonuslab.envs.minihack.glyphs import symbols
from bonuslab.experiments import shared_structure
from bonuslab.experiments.value_functions import figures
from bonuslab.experiments.value_functions.estimates import Estimates
from bonuslab.experiments.value_functions.movement import DIAGONAL_DOORS, FOUR_MOVES
from bonuslab.experiments.value_functions.sampling import Effort

SMALL = Effort(known_contexts=30, solved_contexts=6, played_contexts=3, steps=800)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shared") / "deep"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared_structure, "QUICK", SMALL)
        words = ["MultiRoom-N6-Lava", "--quick", "--contexts", "1,3,inf", "--out", str(folder)]
        assert shared_structure.main(words) == 0
    return folder


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_table(out: Path) -> None:
    table = rows(out / "similarity.csv")
    assert [(row["feature"], row["contexts"]) for row in table] == [
        (feature, count) for feature in ("position", "message") for count in ("1", "3", "inf")
    ]
    single, three, infinite = (float(row["similarity"]) for row in table[:3])
    assert single == 1
    assert three == pytest.approx(1 / 3 + 2 / 3 * infinite)
    assert float(table[2]["low"]) < infinite < float(table[2]["high"])
    assert [row["paper"] for row in table] == ["1.0", "0.465", "0.198", "", "", "0.951"]
    assert [row["paper_global"] for row in table] == ["0.99", "0.59", "0.0", "", "", "0.99"]
    assert int(table[3]["steps"]) >= 3 * 800
    assert {row["seed"] for row in table} == {"0"}
    assert all(row["commit"] and "nle 1.3.0" in row["versions"] for row in table)


def test_the_page_and_its_pictures(out: Path) -> None:
    page = (out / "index.html").read_text()
    for name in ("similarity", "MultiRoom-N6-Lava_position", "MultiRoom-N6-Lava_message"):
        assert f"figures/{name}.png" in page
        assert f"figures/{name}.svg" in page
        assert (out / "figures" / f"{name}.svg").is_file()
        picture = matplotlib.image.imread(out / "figures" / f"{name}.png")
        assert picture.shape[1] == 1350
        assert len(np.unique(picture[::9, ::9].reshape(-1, picture.shape[2]), axis=0)) > 10
    assert "experiments/shared_structure.py MultiRoom-N6-Lava --quick" in page
    assert "0.465" in page


def test_other_readings_and_predictions(out: Path) -> None:
    readings = {row["reading"]: float(row["similarity"]) for row in rows(out / "readings.csv")}
    ours = float(rows(out / "similarity.csv")[2]["similarity"])
    assert readings[FOUR_MOVES.name] < ours < readings[DIAGONAL_DOORS.name]
    predictions = rows(out / "prediction.csv")
    assert {row["outcomes_of"] for row in predictions} == {"the paper’s tables"}
    found = {(row["feature"], row["contexts"]): row for row in predictions}
    assert found["position", "inf"]["predicted"] == "episodic"
    assert found["position", "inf"]["agrees"] == "True"


def test_walls_look_like_walls() -> None:
    plan = Estimates(SMALL).sample("MultiRoom-N2-S4", "position").plans[0]
    characters = symbols()[0][figures.glyphs_of(plan)]
    text = ["".join(map(chr, row)).strip() for row in characters]
    assert any(row.startswith("---") for row in text)
    assert any(row.startswith("|.") for row in text)
    assert sum(row.count(">") for row in text) == 1


def test_bad_input_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert shared_structure.main(["NoSuchRoom"]) == 2
    assert "NoSuchRoom" in capsys.readouterr().err
    assert shared_structure.main(["--contexts", ","]) == 2
    assert shared_structure.main(["--features", "smell"]) == 2
    (tmp_path / "file").touch()
    assert shared_structure.main(["--out", str(tmp_path / "file" / "below")]) == 2
    assert "cannot be written to" in capsys.readouterr().err
