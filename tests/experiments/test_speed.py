"""speed.py: the parts it knows, the Markdown table, and where that is written."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from bonuslab.envs.errors import InvalidInput
from bonuslab.experiments import speed
from bonuslab.experiments.benchmarks import markdown
from bonuslab.experiments.benchmarks.measurement import Measurement

ROWS = [
    ("peers", Measurement("training; peer: RLlib's PPO", 200.0, 700.0, "CPU µs/step")),
    ("envs", Measurement("files | left open", 0.0, None, "files")),
    ("training", Measurement("steps; peer: 54a96d8", 3000.0, 1500.0, "steps/s", True)),
]


def test_markdown_has_one_row_per_measurement_with_its_command() -> None:
    first, blank, *table = markdown.markdown_section(ROWS, against="54a96d8").splitlines()
    assert first.startswith(f"Measured at commit {markdown.commit()} on 20")
    assert "quick" not in first
    assert blank == ""
    assert table == [
        "| measured | ours | peer | ratio | command |",
        "|---|---:|---:|---:|---|",
        "| training | 200 CPU µs/step | 700: RLlib's PPO | 3.50× | `speed.py peers` |",
        "| files \\| left open | 0 files |  |  | `speed.py envs` |",
        "| steps | 3,000 steps/s | 1,500: 54a96d8 | 2.00× | `speed.py training --against 54a96d8` |",
    ]
    assert "`speed.py peers --quick`" in markdown.markdown_section(ROWS, quick=True)


def test_a_section_replaces_what_stands_between_the_markers(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"above\n{markdown.BEGIN}\nold\n{markdown.END}\nbelow\n")
    markdown.replace_section(page, "new")
    markdown.replace_section(page, "newer")
    assert page.read_text() == f"above\n{markdown.BEGIN}\nnewer\n{markdown.END}\nbelow\n"


@pytest.mark.parametrize("text", ["", markdown.BEGIN, f"{markdown.END}{markdown.BEGIN}"])
def test_a_file_without_markers_is_refused(tmp_path: Path, text: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(InvalidInput, match="<!-- speed -->"):
        markdown.replace_section(page, "new")
    assert page.read_text() == text


def test_readme_has_the_markers() -> None:
    markdown.replace_section(markdown.ROOT / "README.md", None)


@pytest.mark.parametrize("part", speed.PARTS)
def test_every_part_can_run(part: str) -> None:
    module = _module(part)
    assert callable(module.run)
    assert (part in markdown.AGAINST) == hasattr(module, "QUICK_CASES")


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str | None]]:
    """Calls of parts, which measure nothing."""
    calls: list[tuple[str, str | None]] = []
    for part in speed.PARTS:

        def run(part: str = part, case: str | None = None, **_: object) -> list[Measurement]:
            calls.append((part, case))
            return [Measurement(case or part, 1.0, 2.0, "s")]

        monkeypatch.setattr(_module(part), "run", run)
    return calls


def test_all_runs_every_part_and_writes_the_table(ran: list[tuple[str, str | None]], tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"{markdown.BEGIN}{markdown.END}")
    assert speed.main(["all", "--quick", "--markdown", "--write", str(page)]) == 0
    assert list(dict.fromkeys(part for part, _ in ran)) == list(speed.PARTS)
    for part, case in ran:
        against = f" --against {speed.BASELINE}" if part in speed.AGAINST else ""
        assert f"| {case or part} | 1 s | 2 | 2.00× | `speed.py {part} --quick{against}` |" in page.read_text()


def test_cases_are_chosen_by_a_part_of_their_name(ran: list[tuple[str, str | None]]) -> None:
    assert speed.main(["time-to-solve", "training", "--quick", "--case", "KeyRoom"]) == 0
    assert ran == [("time-to-solve", "KeyRoom-S5, count"), ("training", "KeyRoom-S5, count")]


def test_an_interrupted_run_is_resumed(
    ran: list[tuple[str, str | None]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "speed.json"
    first = ["envs", "training", "--json", str(file)]
    assert speed.main(first) == 0
    before, done = file.read_text(), len(ran)
    assert speed.main([*first, "--resume"]) == 0
    assert len(ran) == done
    assert file.read_text() == before
    assert speed.main(["envs", "bonuses", "--json", str(file), "--resume"]) == 0
    assert ran[done:] == [("bonuses", None)]
    assert speed.main(["envs", "--quick", "--json", str(file), "--resume"]) == 0  # other options
    monkeypatch.setattr(speed, "commit", lambda: "another")
    assert speed.main(["envs", "--json", str(file), "--resume"]) == 0
    assert ran[done + 1 :] == [("envs", None)] * 2
    assert speed.main(["envs", "--json", str(file)]) == 0  # without --resume, all is measured anew
    assert [row["part"] for row in json.loads(file.read_text())] == ["envs"]


def _module(part: str) -> Any:
    return importlib.import_module(f"bonuslab.experiments.benchmarks.{speed.MODULES.get(part, part)}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["envs", "--write", "missing.md"], "missing.md is not a file"),
        (["envs", "--cache", "somewhere"], "name the part `peers`"),
        (["envs", "--against", "HEAD"], "time-to-solve, training: name one of these"),
        (["envs", "--resume"], "name it with --json FILE"),
        (["training", "envs", "--case", "KeyRoom"], "name only these parts"),
        (["training", "--case", "Nothing"], "no case of training contains 'Nothing'"),
        (["envs", "--json", __file__, "--resume"], "was not written by --json"),
    ],
)
def test_mistakes_are_told_before_anything_runs(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        speed.main(arguments)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_a_side_that_did_nothing_has_no_ratio() -> None:
    assert Measurement("steps", 0.0, 3.0, "steps/s").ratio is None
    assert Measurement("steps", 3.0, 0.0, "steps/s", higher_is_better=True).ratio is None
    assert Measurement("steps", 2.0, 3.0, "µs").ratio == 1.5
