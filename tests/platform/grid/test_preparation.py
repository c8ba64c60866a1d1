"""A grid's folder before a run: new, continued, changed with consent, begun afresh, and what is refused."""

from __future__ import annotations

import linecache
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bonuslab.algorithms.extensions import bonus
from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.grid.changes import compare, differences
from bonuslab.platform.grid.experiment import Scale
from bonuslab.platform.grid.preparation import ASIDE, ClaimedFolder, checkpoint_locations, this_command, with_id
from bonuslab.platform.run import versions
from bonuslab.platform.run.folder import GridDescription, GridFolder
from bonuslab.platform.run.state import TrialState

PLUGIN = "@bonus('mine', scope='global')\ndef mine(step):\n    return step.reward * 1\n"
SCALE = Scale("", ["MultiRoom-N2-S4"], ["none", "e3b"], [0, 1], settings={"total_env_steps": 100})


def wanted(**changes: Any) -> GridDescription:
    scale = replace(SCALE, **changes)
    return with_id(GridDescription("grid", "demo", "small", scale.trials(), options={"metric": "win_rate"}))


def claim(path: Path, description: GridDescription, fresh: bool = False, accept: bool = False) -> ClaimedFolder:
    claimed = ClaimedFolder(path, description, fresh, accept)
    claimed.write()
    claimed.folder.release()
    return claimed


@pytest.fixture
def grid(tmp_path: Path) -> Path:
    """Four trials: two finished, one failed, one in the middle when the power went."""
    path = tmp_path / "grid"
    folder = claim(path, wanted()).folder
    statuses = {"none__cinf__s0": "finished", "none__cinf__s1": "finished", "e3b__cinf__s0": "failed"}
    for trial in folder.trials():
        status = statuses.get(trial.id.removeprefix("MultiRoom-N2-S4__"), "running")
        TrialState(status=status, attempts=1).write(trial.state_file)  # type: ignore[arg-type]
    return path


def test_the_same_command_goes_on(grid: Path) -> None:
    before = GridFolder(grid).description()
    claimed = claim(grid, wanted())
    assert [trial.labels["bonus"] + trial.labels["seed"] for trial in claimed.unfinished()] == ["e3b0", "e3b1"]
    after = GridFolder(grid).description()
    assert after.options["id"] == before.options["id"]
    assert len(after.commands) == 2
    assert GridFolder(grid).trials()[0].state().status == "finished"


def test_changed_settings_are_reported_and_refused(grid: Path) -> None:
    state = (grid / "grid.json").read_text()
    with pytest.raises(InvalidInput) as refused:
        ClaimedFolder(grid, wanted(settings={"total_env_steps": 200}, seeds=[0, 2]), False, False)
    lines = str(refused.value).splitlines()
    assert "  changed  2 trials: MultiRoom-N2-S4__none__cinf__s0, MultiRoom-N2-S4__e3b__cinf__s0" in lines
    assert "             total_env_steps: 100 → 200" in lines
    assert "  added    2 trials: MultiRoom-N2-S4__none__cinf__s2, MultiRoom-N2-S4__e3b__cinf__s2" in lines
    assert "  removed  2 trials: MultiRoom-N2-S4__none__cinf__s1, MultiRoom-N2-S4__e3b__cinf__s1" in lines
    assert "--accept-changes" in lines[-1]
    assert (grid / "grid.json").read_text() == state
    claim(grid, wanted())  # and the folder is not locked


def test_with_consent_unchanged_trials_keep_their_results(grid: Path) -> None:
    def adjust(point: Any) -> dict[str, Any]:
        return {"total_env_steps": 200} if point.bonus == "none" and point.seed == 0 else {}

    (grid / "trials" / "MultiRoom-N2-S4__none__cinf__s0" / "progress.csv").write_text("env_steps\n100\n")
    claimed = claim(grid, wanted(adjust=adjust), accept=True)
    assert [trial.labels["bonus"] + trial.labels["seed"] for trial in claimed.unfinished()] == ["none0", "e3b0", "e3b1"]
    folder = GridFolder(grid)
    changed, kept = (folder.trial(f"MultiRoom-N2-S4__none__cinf__s{seed}") for seed in (0, 1))
    assert changed.state().attempts == 0
    assert not changed.progress.exists()
    assert kept.state().status == "finished"
    (aside,) = (grid / ASIDE).iterdir()
    assert (aside / changed.id / "progress.csv").read_text() == "env_steps\n100\n"
    where = checkpoint_locations(folder, folder.description(), None)
    assert where.of(changed.id).endswith("__none__cinf__s0.2"), "it must not resume from its old checkpoint"
    assert where.of(kept.id).endswith("__none__cinf__s1")


def test_a_preset_that_has_changed_since_counts_as_a_change(grid: Path) -> None:
    later = wanted()
    later.trials = [replace(trial, hyperparameters={**trial.hyperparameters, "gamma": 0.9}) for trial in later.trials]
    changes = compare(GridFolder(grid), later)
    assert changes.changed["MultiRoom-N2-S4__none__cinf__s0"] == ["gamma: 0.98 → 0.9"]


def test_fresh_moves_the_old_grid_aside(grid: Path) -> None:
    claimed = claim(grid, wanted(), fresh=True)
    assert len(claimed.unfinished()) == 4
    assert GridFolder(grid).trials()[0].state().status == "waiting"
    (old,) = [path for path in grid.parent.iterdir() if path != grid]
    assert GridFolder(old).trials()[0].state().status == "finished"
    assert GridFolder(old).description().options["id"] != GridFolder(grid).description().options["id"]
    assert str(old) in claimed.notes[0]


def test_a_second_driver_is_turned_away(grid: Path) -> None:
    first = ClaimedFolder(grid, wanted(), False, False)
    for fresh in (False, True):
        with pytest.raises(InvalidInput, match="another process is training in"):
            ClaimedFolder(grid, wanted(), fresh, False)
    first.release()
    ClaimedFolder(grid, wanted(), False, False).release()


def test_folders_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("")
    for name, message in (("file", "it is a file"), ("full", "not empty"), ("file/below", "cannot be written to")):
        with pytest.raises(InvalidInput, match=message):
            ClaimedFolder(tmp_path / name, wanted(), False, False)
    with pytest.raises(InvalidInput, match="cannot be written to"):
        ClaimedFolder(Path("/proc/grid"), wanted(), False, False)
    ClaimedFolder(tmp_path / "new", wanted(), False, False).release()
    assert not (tmp_path / "new").exists()


def test_checkpoints_of_two_grids_never_meet_in_one_store(tmp_path: Path) -> None:
    folders = [claim(tmp_path / name / "grid", wanted()).folder for name in ("a", "b")]
    one, other = (checkpoint_locations(folder, folder.description(), "s3://bucket/all/") for folder in folders)
    trial = folders[0].trials()[0].id
    assert one.of(trial) != other.of(trial)
    assert one.of(trial).startswith("s3://bucket/all/grid-")
    assert one.shared
    description = folders[0].description()
    description.options["storage"] = "s3://bucket/all"
    assert checkpoint_locations(folders[0], description) == one, "as before, even if --storage is not given again"


def test_commands_hold_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/bin/bonuslab", "grid", "--tracking-uri", "https://me:hunter22@host/"])
    assert this_command()["command"] == "bonuslab grid --tracking-uri 'https://***@host/'"


def test_differences() -> None:
    before = {"env": {"a": 1, "b": 2}, "plugins": ["x"], "steps": 5, "gone": None, "lr": 1}
    now = {"env": {"a": 1, "b": 3}, "plugins": ("x",), "steps": 5, "lr": 2}
    assert differences(before, now, skip=["lr"]) == ["env.b: 2 → 3"]


def test_more_seeds_and_tasks_extend_a_grid_without_consent(grid: Path) -> None:
    claimed = claim(grid, wanted(seeds=[0, 1, 2], tasks=["MultiRoom-N2-S4", "KeyRoom-S5"]))
    assert claimed.notes[0] == "extending the grid:"
    assert claimed.notes[1].startswith("  added    8 trials: ")
    assert len(claimed.unfinished()) == 10
    assert GridFolder(grid).trial("MultiRoom-N2-S4__none__cinf__s0").state().status == "finished"


@pytest.fixture
def trained(grid: Path) -> Path:
    """The same grid, whose trials say which code trained them."""
    for trial in GridFolder(grid).trials():
        replace(trial.state(), env_steps=50, code="bonuslab 0.1 at abc").write(trial.state_file)
    return grid


def test_other_code_is_not_mixed_in_without_consent(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match=r"is of different code:\n  code     bonuslab 0\.1 at abc → bonuslab \S+ at"):
        ClaimedFolder(trained, wanted(), False, False)
    assert "resuming with changes:" in claim(trained, wanted(), accept=True).notes
    assert GridFolder(trained).trials()[0].state().status == "finished"
    for trial in GridFolder(trained).trials():
        replace(trial.state(), status="finished").write(trial.state_file)
    claim(trained, wanted())  # nothing is left to train
    with pytest.raises(InvalidInput, match=r"bonuslab 0\.1 at abc →"):
        ClaimedFolder(trained, wanted(seeds=[0, 1, 2]), False, False)
    monkeypatch.setattr(versions, "_package", lambda: "bonuslab 0.1 at abc")
    claim(trained, wanted(seeds=[0, 1, 2]))


def test_an_edited_bonus_does_not_pass_for_the_one_of_a_finished_grid(trained: Path) -> None:
    for trial in GridFolder(trained).trials():
        replace(trial.state(), status="finished", code="bonuslab 0.1 at abc with own code 123").write(trial.state_file)
    with pytest.raises(
        InvalidInput, match=r"is of different code:\n  code     bonuslab 0\.1 at abc with own code 123 →"
    ):
        ClaimedFolder(trained, wanted(), False, False)


def test_the_users_own_definitions_are_part_of_the_code(fresh_registries: None) -> None:
    about: dict[str, Any] = {"task": "KeyRoom-S5", "hyperparameters": {}}

    def define(amount: float) -> list[str]:
        source = PLUGIN.replace("* 1", f"* {amount}")
        lines = source.splitlines(keepends=True)
        linecache.cache["<own>"] = (len(source), None, lines, "<own>")
        exec(compile(source, "<own>", "exec"), {"bonus": bonus, "__name__": "own"})
        return [versions.this_code({**about, "bonus": text}) for text in ("mine * rnd", "rnd")]

    first, again, second = define(1), define(1), define(2)
    assert first == again
    assert first[0] != second[0], "an edited bonus is other code"
    assert first[1] == second[1], "of trials that use it alone"


def test_a_changed_plugin_is_a_change(tmp_path: Path, fresh_registries: None) -> None:
    plugin, source = tmp_path / "mine.py", "from bonuslab.algorithms.extensions import bonus\n" + PLUGIN
    plugin.write_text(source)
    settings = {"total_env_steps": 100, "plugins": [str(plugin)]}
    claim(tmp_path / "grid", wanted(bonuses=["mine"], settings=settings))
    plugin.write_text(source.replace("* 1", "* 2"))
    with pytest.raises(InvalidInput, match=r"changed  2 trials: .*\n *plugins: .*sha256"):
        ClaimedFolder(tmp_path / "grid", wanted(bonuses=["mine"], settings=settings), False, False)


def test_damaged_files_of_a_grid_cost_their_trial_alone(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "_package", lambda: "bonuslab 0.1 at abc")
    folder = GridFolder(trained)
    victim, other = (folder.trial(f"MultiRoom-N2-S4__none__cinf__s{seed}") for seed in (0, 1))
    victim.state_file.write_bytes(b"\xff")
    (victim.path / "trial.json").write_text("{")
    (trained / "grid.json").write_text("")
    claimed = claim(trained, wanted())
    assert [victim.id in trial.id for trial in claimed.unfinished()].count(True) == 1
    assert other.state().status == "finished"
    assert victim.state().status == "waiting"
    assert {path.name for path in trained.rglob("*.damaged")} == {
        "grid.json.damaged", "state.json.damaged", "trial.json.damaged"
    }  # fmt: skip
    assert len(claimed.folder.description().commands) == 2
