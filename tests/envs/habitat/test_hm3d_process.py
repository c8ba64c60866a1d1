"""HM3D simulators in separate processes."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import numpy as np
import pytest

from bonuslab.envs.habitat.hm3d.own_process import HM3DSimulator
from bonuslab.envs.habitat.simulator import Action, Pose

from . import fake_habitat_sim as fake

START = Pose(2.0, 0.5, 5.0, 0.4)


def file_of(scene: int) -> Path:
    return Path(f"{scene}.glb")


@pytest.fixture(autouse=True)
def habitat_sim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes find the fake under the real one's name."""
    shutil.copy(fake.__file__, tmp_path / "habitat_sim.py")
    monkeypatch.syspath_prepend(tmp_path)


def test_prefetching_simulators_render_in_parallel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    meeting = tmp_path / "meeting"
    meeting.mkdir()
    monkeypatch.setenv("FAKE_MEETING", str(meeting))  # no one renders until all three have started
    monkeypatch.setenv("FAKE_MEETING_SIZE", "3")
    simulators = [HM3DSimulator(file_of, "default", 32, -1, "largest") for _ in range(3)]
    rgb, depth = np.zeros((32, 32, 3), np.uint8), np.zeros((32, 32), np.float32)
    for simulator in simulators:
        simulator.begin(0, START)
    for simulator in simulators:
        simulator.prefetch(Action.LEFT)
    for simulator in simulators:
        simulator.act(Action.LEFT)
        simulator.render(rgb, depth)
        assert simulator.pose.heading == pytest.approx(0.4 + np.radians(10))
        assert (depth == 2.5).all()
    assert len(list(meeting.iterdir())) == 3

    first = simulators[0]
    first.prefetch(Action.LEFT)
    first.begin(0, START)  # pending replies are discarded
    assert first.pose == pytest.approx(START)
    first.act(Action.RIGHT)
    assert first.pose.heading == pytest.approx(0.4 - np.radians(10))
    for simulator in simulators:
        simulator.close()


def test_processes() -> None:
    one, other = (HM3DSimulator(file_of, "default", 32, -1, "largest") for _ in range(2))
    for simulator in (one, other):  # in one process the second would crash
        simulator.begin(0, START)
        assert simulator.pose == pytest.approx(START)
    one.act(Action.LEFT)
    assert (one.pose.heading, other.pose.heading) == pytest.approx((0.4 + np.radians(10), 0.4))
    rgb, depth = np.zeros((32, 32, 3), np.uint8), np.zeros((32, 32), np.float32)
    one.render(rgb, depth)
    assert (rgb[0] == 40).all()
    assert (rgb[1:] == (10, 20, 30)).all()
    assert (depth == 2.5).all()
    floor = one.navigable_map()
    assert floor.navigable.shape == (80, 120)
    assert floor.navigable[floor.cell_of(2.0, 5.0)]

    with pytest.raises(RuntimeError, match=r"ValueError: .* non-finite"):
        one.begin(0, START._replace(x=float("nan")))
    one.begin(1, START)  # still works
    assert one.pose == pytest.approx(START)

    process, killed = one._process, other._process
    assert process is not None
    assert killed is not None
    killed.kill()
    with pytest.raises(RuntimeError, match=f"habitat-sim ended with status -{signal.SIGKILL.value}"):
        other.act(Action.LEFT)
    other.close()
    other.close()

    one.close()
    assert process.returncode == 0
