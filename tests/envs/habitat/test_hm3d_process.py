"""HM3D's simulators in processes of their own."""

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


def test_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(fake.__file__, tmp_path / "habitat_sim.py")
    monkeypatch.syspath_prepend(tmp_path)
    one, other = (HM3DSimulator(file_of, "default", 32, 0) for _ in range(2))
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
    one.begin(1, START)  # goes on
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
