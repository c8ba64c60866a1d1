"""Tiny searches on Ray Tune: what Tune is told, how seeds are trained, stopping and resuming."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bonuslab.platform.grid.driver import GridOutcome, RunOptions
from bonuslab.platform.grid.preparation import ClaimedFolder, checkpoint_locations, with_id
from bonuslab.platform.grid.recorder import Recorder
from bonuslab.platform.grid.search_driver import SearchDriver
from bonuslab.platform.grid.search_plan import SearchPlan, key_of
from bonuslab.platform.grid.search_space import Search
from bonuslab.platform.grid.search_tune import PerBonusScheduler
from bonuslab.platform.report.search_records import OPTION, SearchRecord, read_search
from bonuslab.platform.run.folder import GridDescription, GridFolder

pytestmark = pytest.mark.cluster
SEEDS = (101, 102)


def drive(
    path: Path, tiny: ModuleType, search: Search, batches: int, bonuses: list[str], **settings: Any
) -> tuple[SearchRecord, GridOutcome]:
    """What `bonuslab search` does between starting Ray and writing the winners."""
    plan = SearchPlan(search, tiny.tiny_scale(bonuses, batches, **settings).trials())
    description = GridDescription(path.name, "search", "all", plan.trials(), options={OPTION: search.as_dict()})
    claimed = ClaimedFolder(path, with_id(description), fresh=False, accept_changes=False)
    claimed.write()
    try:
        where = checkpoint_locations(claimed.folder, claimed.description, None)
        driver = partial(SearchDriver, plan, claimed.description)
        options = RunOptions(max_retries=0)
        outcome = driver(
            claimed.folder, claimed.unfinished(), where, options, Recorder(claimed.folder), tiny.Notes()
        ).run()
        return read_search(claimed.folder), outcome
    finally:
        claimed.release()


@pytest.mark.usefixtures("cluster")
def test_tune_gets_every_row_and_seeds_are_trained_as_if_alone(
    tmp_path: Path, tiny: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    decide = PerBonusScheduler.on_trial_result

    def listen(self: PerBonusScheduler, controller: Any, trial: Any, result: dict[str, Any]) -> str:
        told[trial.config["group"], trial.config["sample"]].append(result)
        return decide(self, controller, trial, result)

    monkeypatch.setattr(PerBonusScheduler, "on_trial_result", listen)
    search = Search(SEEDS, samples=1, scheduler="none")
    record, outcome = drive(tmp_path / "search", tiny, search, 4, ["e3b", "count.global"])
    assert (outcome.stopped, outcome.unwritten) == ("", None)
    assert Counter(sample.place[2] for sample in record.samples) == {"e3b": 1, "count.global": 1}
    assert {one.env_steps for sample in record.samples for one in sample.seeds} == {4 * tiny.BATCH}
    assert {sample.ended for sample in record.samples} == {"finished"}
    assert len(told) == 2
    for results in told.values():  # the last report ends the trial, so the scheduler is not asked about it
        assert [result["env_steps"] for result in results] == [32, 64, 96]
        assert [result["training_iteration"] for result in results] == [1, 2, 3]
        assert all({"objective", "episode_return"} <= set(result) for result in results)
    sample = record.samples[0]
    settings = {name: sample.settings[name] for name in ("normalise", "coefficient")}
    tiny.train(tmp_path / "alone", 4, bonus=sample.place[2], seed=102, **settings)
    (alone,) = GridFolder.open(tmp_path / "alone").trials()
    folder = GridFolder.open(tmp_path / "search")
    (both,) = [folder.trial(one.trial) for one in sample.seeds if one.seed == 102]
    timed = ["wall_seconds", "cpu_seconds", "env_steps_per_second", "learnt_steps_per_second"]
    first, second = (found.rows().drop(columns=timed, errors="ignore") for found in (alone, both))
    assert first.equals(second[first.columns])
    assert both.rows()["cpu_seconds"].is_monotonic_increasing
    assert both.rows()["cpu_seconds"].iloc[0] > 0


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_a_stopped_search_is_resumed_where_it_was(
    tmp_path: Path, tiny: ModuleType, wait_until: Callable[..., bool]
) -> None:
    path, search = tmp_path / "search", Search(SEEDS, samples=2, metric="episode_length", grace=0.5)
    settings = {"checkpoint_every_steps": 10**9}

    def interrupt() -> None:
        wait_until((path / "grid.json").exists)
        wait_until(lambda: any(len(trial.rows()) >= 2 for trial in GridFolder(path).trials()))
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    before, outcome = drive(path, tiny, search, 120, ["count.global"], **settings)
    assert outcome.signal == signal.SIGINT
    begun = {one.trial: one.env_steps for sample in before.samples for one in sample.seeds if one.rows}
    assert begun
    plans = [json.loads((path / "grid.json").read_text())["trials"]]
    after, outcome = drive(path, tiny, search, 120, ["count.global"], **settings)
    plans.append(json.loads((path / "grid.json").read_text())["trials"])
    assert plans[0] == plans[1]
    assert outcome.stopped == ""
    assert {sample.ended for sample in after.samples} <= {"finished", "stopped"}
    folder = GridFolder.open(path)
    for trial in folder.trials():
        steps = trial.rows()["env_steps"].tolist()
        assert steps == sorted(set(steps))
        if trial.id in begun and folder.trial(trial.id).state().attempts == 2:
            assert f"at {begun[trial.id]:,} steps" in trial.state().resumed
    for sample in after.samples:
        assert len({one.env_steps for one in sample.seeds}) == 1, "seeds keep level"
    assert after.winners
    assert {key_of(trial) for trial in folder.description().trials} == {
        (next(iter(_groups(after))), n) for n in range(2)
    }


def _groups(record: SearchRecord) -> set[str]:
    return {" | ".join(sample.place) for sample in record.samples}
