"""HM3D: the configuration of habitat-sim, its observations, and errors about missing data."""

from __future__ import annotations

import gzip
import json
import math
import pickle
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bonuslab.envs.catalogue import check_settings, make_vector_env
from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.habitat import HabitatEnv
from bonuslab.envs.habitat.contexts import context_id
from bonuslab.envs.habitat.hm3d import devices
from bonuslab.envs.habitat.hm3d.own_process import HM3DSimulator
from bonuslab.envs.habitat.hm3d.scenes import HM3DScenes
from bonuslab.envs.habitat.hm3d.simulator import HabitatSim

from . import fake_habitat_sim as fake
from .conftest import episode, write_episodes


@pytest.fixture
def habitat_sim(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The simulators that habitat-sim creates.

    They run in this process, which is faster, but each back end has its own habitat-sim, as in separate processes.
    """
    made: list[Any] = []
    inside: dict[HM3DSimulator, HabitatSim] = {}

    def call(self: HM3DSimulator, name: str, *arguments: object) -> Any:
        if self not in inside:
            inside[self] = HabitatSim(own_habitat_sim(made), *self._settings)
        return getattr(inside[self], name)(*arguments)

    monkeypatch.setitem(sys.modules, "habitat_sim", fake)
    monkeypatch.setattr(devices, "egl_devices", lambda: [None])  # software rendering, on any machine
    monkeypatch.setattr(HM3DSimulator, "_call", call)
    monkeypatch.setattr(HM3DSimulator, "close", lambda self: inside.pop(self).close())
    return made


def own_habitat_sim(made: list[Any]) -> Any:
    specification = spec_from_file_location("own_habitat_sim", fake.__file__)
    assert specification is not None
    assert specification.loader is not None
    module = module_from_spec(specification)
    sys.modules[module.__name__] = module  # dataclasses look up their module there
    specification.loader.exec_module(module)
    module.Simulator.made = made
    return module


def test_configuration(data: Path, habitat_sim: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_CUDA_DEVICES", "4")
    env = HabitatEnv("hm3d", size=32, data_path=data, gpu_device=3)
    env.reset(options={"context": context_id(1, 0)})
    (simulator,) = habitat_sim
    config = simulator.config.sim_cfg
    assert config.scene_id == str(data / "scene_datasets/hm3d/train/00004-bbb/bbb.basis.glb")
    assert config.scene_dataset_config_file == str(data / "scene_datasets/hm3d/hm3d_basis.scene_dataset_config.json")
    assert (config.gpu_device_id, config.allow_sliding, config.enable_physics) == (3, True, False)
    navigation = config.navmesh_settings
    assert (navigation.agent_radius, navigation.agent_height) == pytest.approx((0.1, 1.5))
    assert (navigation.agent_max_climb, navigation.agent_max_slope) == pytest.approx((0.2, 45.0))
    assert not config.load_semantic_mesh
    (agent,) = simulator.config.agents
    assert (agent.radius, agent.height) == (0.1, 1.5)
    colour, depth = agent.sensor_specifications
    assert (colour.uuid, colour.sensor_type.name, depth.uuid, depth.sensor_type.name) == (
        "rgb",
        "COLOR",
        "depth",
        "DEPTH",
    )
    for camera in (colour, depth):
        assert (camera.resolution, camera.position, camera.hfov) == ([32, 32], [0.0, 1.25, 0.0], 90.0)
        assert camera.orientation == [0.0, 0.0, 0.0]
        assert camera.sensor_subtype.name == "PINHOLE"
    amounts = {name: action.actuation.amount for name, action in agent.action_space.items()}
    assert amounts == {"move_forward": 0.25, "turn_left": 10.0, "turn_right": 10.0}


def test_fake_is_as_strict_as_habitat_sim(data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    strict = own_habitat_sim([])
    config = strict.SimulatorConfiguration()
    for name, wrong in (("scene_id", data), ("gpu_device_id", 0.0), ("allow_sliding", 1), ("navmesh_settings", {})):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            setattr(config, name, wrong)
    with pytest.raises(AttributeError, match="scene_ids"):
        config.scene_ids = ""
    with pytest.raises(TypeError, match="does not have 2 components"):
        strict.CameraSensorSpec().resolution = [32, 32, 4]
    with pytest.raises(SystemExit):  # the default device, 0, is a CUDA device
        strict.Simulator(strict.Configuration(config, [strict.AgentConfiguration()]))
    assert "unable to find CUDA device 0 among 1 EGL devices" in capfd.readouterr().err
    config.gpu_device_id = -1
    first = strict.Simulator(strict.Configuration(config, [strict.AgentConfiguration()]))
    with pytest.raises(SystemError, match="two simulators"):
        strict.Simulator(first.config)
    first.close(destroy=False)
    with pytest.raises(SystemError, match="closed twice"):
        first.close(destroy=False)
    with pytest.raises(IndexError):
        first.get_agent(0)


def test_observations_and_map(data: Path, habitat_sim: list[Any]) -> None:
    env = HabitatEnv("hm3d", size=32, data_path=data)
    observation, info = env.reset(options={"context": context_id(0, 1)})  # at (2, 0.5, 5), heading 0.4
    assert info["scene"] == "00001-aaa"
    assert observation["rgb"].shape == (32, 32, 3)
    assert (observation["rgb"][0] == 40).all()
    assert (observation["rgb"][1:] == (10, 20, 30)).all()
    assert (observation["depth"] == np.float16(0.25)).all()
    assert env.path[0] == pytest.approx((2.0, 0.5, 5.0, 0.4))
    observation, *_ = env.step(1)
    assert observation["gps"] == pytest.approx([0.25, 0.0], abs=1e-6)
    observation, *_ = env.step(3)
    assert observation["compass"] == pytest.approx([-math.radians(10)])
    assert habitat_sim[0].agents[0].acts == ["move_forward", "turn_right"]
    assert env.map.navigable.shape == (80, 120)
    assert (env.map.x0, env.map.z0) == (-1.025, 1.975)  # the corner of the bounds is the centre of the first cell
    assert env.map.navigable[env.map.cell_of(2.0, 5.0)]
    assert not env.map.navigable[env.map.cell_of(-0.9, 2.1)]
    assert not env.map.navigable[env.map.cell_of(3.75, 3.0)]  # the top of the bed
    assert 0.05 < env.coverage < 1
    env.step(0)
    assert len(habitat_sim[0].agents[0].acts) == 2  # stop is not passed on to the simulator


def test_all_islands_count_on_request(data: Path, habitat_sim: list[Any]) -> None:
    reachable, released = (HabitatEnv("hm3d", size=32, data_path=data, islands=text) for text in ("largest", "all"))
    for env in (reachable, released):
        env.reset(options={"context": context_id(0, 1)})
    bed = released.map.navigable & ~reachable.map.navigable
    assert bed.sum() * 0.05**2 == pytest.approx(0.5)  # 1 m x 0.5 m
    assert bed[released.map.cell_of(3.75, 3.0)]
    with pytest.raises(InvalidInput, match="unknown choice of islands 'most'; allowed: all, largest"):
        HabitatEnv("hm3d", data_path=data, islands="most")


def test_released_coverage_has_its_own_map(data: Path, habitat_sim: list[Any]) -> None:
    env = HabitatEnv("hm3d", size=32, data_path=data, coverage="released")
    env.reset(options={"context": context_id(0, 1)})
    assert env.map.cell == pytest.approx(4 / 1024)
    assert env.map.navigable.shape == (1024, 1536)
    assert env.map.navigable[env.map.cell_of(3.75, 3.0)]  # all islands
    before = env.coverage
    for action in (2, 2, 1, 1, 1):
        env.step(action)
    assert before < env.coverage
    with pytest.raises(InvalidInput, match="unknown coverage 'mine'; allowed: released, sight"):
        check_settings("HM3D", contexts="inf", data_path=str(data), coverage="mine")


@pytest.mark.parametrize(
    ("found", "wanted", "chosen"),
    [([None], "auto", -1), ([None, 1, 0], "auto", 0), ([None, 2], "auto", 2), ([], "auto", -1), ([None, 0], 3, 3)],
)
def test_device_is_chosen_by_what_egl_has(
    found: list[int | None], wanted: int | str, chosen: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "egl_devices", lambda: found)
    assert devices.choose_device(wanted) == chosen


def test_machines_without_egl_render_on_any_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices.ctypes, "CDLL", lambda name: (_ for _ in ()).throw(OSError(name)))
    assert devices.choose_device("auto") == -1


def test_one_simulator_loads_all_scenes(data: Path, habitat_sim: list[Any]) -> None:
    env = HabitatEnv("hm3d", size=32, data_path=data)
    for scene, start in ((0, 0), (0, 1), (1, 0), (2, 1)):
        env.reset(options={"context": context_id(scene, start)})
    (simulator,) = habitat_sim
    assert simulator.calls == ["close False", "reconfigure"] * 2  # not for another start in the same scene
    assert simulator.config.sim_cfg.scene_id.endswith("TEE.basis.glb")
    assert simulator.pathfinder.views == 1
    env.close()
    assert simulator.calls[-1] == "close True"


def test_envs_restore_and_hold_out(data: Path, habitat_sim: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HABITAT_DATA", str(data))
    original, restored = (make_vector_env("HM3D-32", 2, contexts="inf", seed=1, max_steps=6) for _ in range(2))
    rng = np.random.default_rng(0)
    original.reset()
    for _ in range(9):
        now = original.step(rng.integers(1, 4, 2))
    again = restored.set_state(pickle.loads(pickle.dumps(original.get_state())))
    np.testing.assert_array_equal(again["gps"], now.observations["gps"])
    assert set((original.contexts % 1000).tolist()) <= {0, 1}
    held_out = make_vector_env("HM3D-32", 1, contexts=2, held_out=True)
    held_out.reset()
    assert held_out.contexts[0] % 1000 == 2
    check_settings("HM3D", contexts="4")
    with pytest.raises(InvalidInput, match=r"contexts 5 .* has 4"):
        check_settings("HM3D", contexts="5")


def test_simulator_is_recreated_after_a_failed_load(
    data: Path, habitat_sim: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    env = HabitatEnv("hm3d", size=32, data_path=data)
    env.reset(options={"context": context_id(0, 0)})
    (simulator,) = habitat_sim
    monkeypatch.setattr(simulator, "reconfigure", lambda config: 1 / 0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            env.reset(options={"context": context_id(1, 0)})
        assert simulator.calls[-2:] == ["close False", "close True"]
        env.reset(options={"context": context_id(0, 0)})
        simulator = habitat_sim[-1]
        monkeypatch.setattr(simulator, "reconfigure", lambda config: 1 / 0)
    assert len(habitat_sim) == 3


def test_missing_navigation_mesh_is_reported(
    data: Path, habitat_sim: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    env = HabitatEnv("hm3d", size=32, data_path=data)
    env.reset(options={"context": context_id(1, 0)})
    monkeypatch.setattr(type(habitat_sim[0].pathfinder), "has_mesh", False)
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"aaa\.basis\.glb has no navigation mesh"):
            env.reset(options={"context": context_id(0, 0)})


def test_dataset_file_is_optional(data: Path, habitat_sim: list[Any]) -> None:
    (data / "scene_datasets/hm3d/hm3d_basis.scene_dataset_config.json").unlink()
    env = HabitatEnv("hm3d", size=32, data_path=data)
    env.reset()
    assert habitat_sim[0].config.sim_cfg.scene_dataset_config_file == "default"


def test_scene_ids_may_include_the_data_folder(data: Path, habitat_sim: list[Any]) -> None:
    file = data / "datasets/pointnav/hm3d/v1/train/content/aaa.json.gz"
    long_name = {
        **episode("00001-aaa", "train", 0),
        "scene_id": "data/scene_datasets/hm3d/train/00001-aaa/aaa.basis.glb",
    }
    write_episodes(file, [long_name])
    assert HM3DScenes(data).scene_file(0).is_file()


def test_missing_scenes_are_reported(data: Path, habitat_sim: list[Any], tmp_path: Path) -> None:
    with pytest.raises(
        InvalidInput, match=r"no HM3D scenes in .*/nowhere/scene_datasets/hm3d; get them with `python -m"
    ):
        HM3DScenes(tmp_path / "nowhere")
    (data / "scene_datasets/hm3d/val/00800-TEE/TEE.basis.glb").unlink()
    with pytest.raises(InvalidInput, match=r"the scene .*TEE\.basis\.glb is missing"):
        HM3DScenes(data)


def test_all_data_is_checked_before_a_run(data: Path, habitat_sim: list[Any]) -> None:
    check_settings("HM3D", contexts="inf", data_path=str(data), gpu_device=1)
    episodes = data / "datasets/pointnav/hm3d/v1/train/content/bbb.json.gz"
    whole = episodes.read_bytes()
    for content in (b"no gzip", whole[:-6], whole[:40] + b"x" + whole[41:], packed()):
        episodes.write_bytes(content)
        HM3DScenes(data)  # the first scene of the split is intact
        with pytest.raises(InvalidInput, match=r"the episode file .*bbb\.json\.gz"):
            check_settings("HM3D", contexts="inf", data_path=str(data))
    episodes.write_bytes(whole)
    (data / "scene_datasets/hm3d/train/00004-bbb/bbb.basis.glb").unlink()
    with pytest.raises(InvalidInput, match=r"the scene .*bbb\.basis\.glb is missing; get it with `python -m"):
        check_settings("HM3D", contexts="inf", data_path=str(data))


def test_missing_episodes_are_reported(data: Path, habitat_sim: list[Any]) -> None:
    (data / "datasets").rename(data / "elsewhere")
    with pytest.raises(InvalidInput, match=r"no episodes of HM3D's train split in .*pointnav_hm3d_v1\.zip"):
        HM3DScenes(data)


def packed(*episodes: dict[str, Any]) -> bytes:
    return gzip.compress(json.dumps({"episodes": episodes}).encode())


FIRST, SECOND = episode("00001-aaa", "train", 0), episode("00004-bbb", "train", 0)
CORRUPT = {
    "not gzip": b"not a gzip file",
    "truncated": packed(FIRST)[:-30],
    "not JSON": gzip.compress(b"{ not JSON"),
    "not an object": gzip.compress(b"[]"),
    "no episodes": packed(),
    "no start": packed({"scene_id": "a"}),
    "half a position": packed({**FIRST, "start_position": [1, 2]}),
    "not a number": packed({**FIRST, "start_position": [1, 2, math.nan]}),
    "two scenes": packed(FIRST, SECOND),
}


@pytest.mark.parametrize("content", CORRUPT.values(), ids=CORRUPT.keys())
def test_corrupt_episode_file_is_reported(data: Path, habitat_sim: list[Any], content: bytes) -> None:
    (data / "datasets/pointnav/hm3d/v1/train/content/aaa.json.gz").write_bytes(content)
    with pytest.raises(InvalidInput, match=r"the episode file .*aaa\.json\.gz") as caught:
        HM3DScenes(data)
    assert "\n" not in str(caught.value)


def test_unknown_splits_and_settings_are_reported(data: Path, habitat_sim: list[Any]) -> None:
    with pytest.raises(InvalidInput, match=r"unknown split of hm3d 'test'; allowed: train, val"):
        HabitatEnv("hm3d", data_path=data, split="test")
    with pytest.raises(InvalidInput, match=r"unknown split of hm3d 'test'; allowed: train, val"):
        check_settings("HM3D", contexts="inf", data_path=str(data), split="test")
    with pytest.raises(InvalidInput, match="gpu_device 'first' cannot be used"):
        check_settings("HM3D", contexts="inf", data_path=str(data), gpu_device="first")
    with pytest.raises(InvalidInput, match="data_path"):
        HabitatEnv("hm3d", data_paths=data)
