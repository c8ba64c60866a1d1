"""What HM3D needs, part by part."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from bonuslab.envs.errors import Unavailable
from bonuslab.envs.habitat.hm3d import devices as devices_module
from bonuslab.envs.habitat.hm3d import requirements


def test_parts_of_hm3d(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HABITAT_DATA", str(data))
    monkeypatch.setitem(sys.modules, "habitat_sim", SimpleNamespace(__version__="0.3.3"))
    assert requirements.check_simulator() == (
        f"imported habitat-sim 0.3.3, with Python {sys.version.split()[0]} and numpy {np.__version__}"
    )
    assert requirements.check_scenes().startswith(f"2 train and 1 val scenes in {data}")
    assert "navigation mesh of 00001-aaa, 00004-bbb, 00800-TEE" in requirements.check_scenes()
    assert requirements.check_episodes() == f"2 train and 1 val files in {data / 'datasets/pointnav/hm3d/v1'}"
    for devices, found in (([None], "1 device, none of them NVIDIA's (slow)"), ([None, 0], "2 devices, CUDA device 0")):
        monkeypatch.setattr(devices_module, "egl_devices", lambda devices=devices: devices)
        monkeypatch.setattr(requirements, "egl_devices", lambda devices=devices: devices)
        assert requirements.check_rendering().startswith(found)
    monkeypatch.setitem(sys.modules, "habitat_sim", SimpleNamespace(__version__="0.2.1"))
    with pytest.raises(Unavailable, match=r"habitat-sim is 0\.2\.1, not 0\.3\.3"):
        requirements.check_simulator()
    (data / "scene_datasets/hm3d/val/00800-TEE/TEE.basis.glb").unlink()
    with pytest.raises(Unavailable, match=r"TEE\.basis\.glb, which is missing"):
        requirements.check_episodes()
