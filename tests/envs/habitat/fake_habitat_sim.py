"""A fake of habitat-sim: the names, signatures and types of version 0.3.3 that the back end uses.

What fails or crashes there fails here: unknown attributes and arguments, values that the C++ side rejects, a second
simulator in the process, a CUDA device that is not there (FAKE_CUDA_DEVICES has the number of devices, by default 0),
use after close. The world is one bare room of 6 x 4 metres whose navigable floor starts at (-1, 0.5, 2), with the top
of a bed, an island of 1 x 0.5 metres that cannot be reached. It can be imported on its own as `habitat_sim`.
"""

from __future__ import annotations

import enum
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

__version__ = "0.3.3"


class Vector3:
    """Magnum's: supports indexing and iteration, but is not an array."""

    def __init__(self, values: Sequence[float]) -> None:
        self._values = _numbers(3)(values)

    def __getitem__(self, index: int) -> float:
        return float(self._values[index])

    def __iter__(self) -> Iterator[float]:
        return iter(self._values)


@dataclass(frozen=True)
class Quaternion:
    """numpy-quaternion's, with its component order."""

    w: float
    x: float
    y: float
    z: float


class SensorType(enum.Enum):
    NONE, COLOR, DEPTH, SEMANTIC, AUDIO = range(5)


class SensorSubType(enum.Enum):
    NONE, PINHOLE, ORTHOGRAPHIC, FISHEYE, EQUIRECTANGULAR, IMPULSERESPONSE = range(6)


def _wait_for_others(folder: Path, number: int) -> None:
    """A barrier between processes."""
    (folder / str(os.getpid())).touch()
    while len(list(folder.iterdir())) < number:
        time.sleep(0.01)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"incompatible function arguments: {value!r} is not a str")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"incompatible function arguments: {value!r} is not a bool")
    return bool(value)


def _whole(value: Any) -> int:
    if isinstance(value, float | np.floating) or not hasattr(value, "__index__"):
        raise TypeError(f"incompatible function arguments: {value!r} is not an int")
    return int(value)


def _number(value: Any) -> float:
    if isinstance(value, str) or not hasattr(value, "__float__"):
        raise TypeError(f"incompatible function arguments: {value!r} is not a float")
    return float(np.float32(value))


def _numbers(count: int, kind: Callable[[Any], float] = _number) -> Callable[[Any], list[float]]:
    def cast(value: Any) -> list[float]:
        if len(value) != count:
            raise TypeError(f"incompatible function arguments: {value!r} does not have {count} components")
        return [kind(each) for each in value]

    return cast


def _one_of(kind: type) -> Callable[[Any], Any]:
    def cast(value: Any) -> Any:
        if not isinstance(value, kind):
            raise TypeError(f"incompatible function arguments: {value!r} is not a {kind.__name__}")
        return value

    return cast


class _Bound:
    """A C++ object: has a fixed set of attributes, and converts or rejects what they are set to."""

    attributes: dict[str, tuple[Callable[[Any], Any], Any]] = {}  # noqa: RUF012 (per class)

    def __init__(self) -> None:
        for name, (_, default) in self.attributes.items():
            object.__setattr__(self, name, default)

    def __setattr__(self, name: str, value: object) -> None:
        if name not in self.attributes:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        object.__setattr__(self, name, self.attributes[name][0](value))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(
            getattr(self, name) is getattr(other, name) or getattr(self, name) == getattr(other, name)
            for name in self.attributes
        )


class NavMeshSettings(_Bound):
    attributes = {  # noqa: RUF012
        **{
            name: (_number, value)
            for name, value in {
                "cell_size": 0.05, "cell_height": 0.2, "agent_height": 1.5, "agent_radius": 0.1,
                "agent_max_climb": 0.2, "agent_max_slope": 45.0, "region_min_size": 20.0, "region_merge_size": 20.0,
                "edge_max_len": 12.0, "edge_max_error": 1.3, "verts_per_poly": 6.0, "detail_sample_dist": 6.0,
                "detail_sample_max_error": 1.0,
            }.items()
        },
        "filter_low_hanging_obstacles": (_flag, True), "filter_ledge_spans": (_flag, True),
        "filter_walkable_low_height_spans": (_flag, True), "include_static_objects": (_flag, False),
    }  # fmt: skip
    __eq__ = object.__eq__  # configurations compare its pointer

    def set_defaults(self) -> None:
        NavMeshSettings.__init__(self)


class SimulatorConfiguration(_Bound):
    attributes = {  # noqa: RUF012
        "scene_dataset_config_file": (_text, "default"), "scene_id": (_text, ""), "random_seed": (_whole, 0),
        "default_agent_id": (_whole, 0), "gpu_device_id": (_whole, 0), "allow_sliding": (_flag, True),
        "create_renderer": (_flag, True), "leave_context_with_background_renderer": (_flag, False),
        "frustum_culling": (_flag, True), "enable_physics": (_flag, False), "use_semantic_textures": (_flag, True),
        "enable_gfx_replay_save": (_flag, False), "physics_config_file": (_text, ""),
        "override_scene_light_defaults": (_flag, False), "scene_light_setup": (_text, ""),
        "load_semantic_mesh": (_flag, True), "force_separate_semantic_scene_graph": (_flag, False),
        "requires_textures": (_flag, True), "navmesh_settings": (_one_of(NavMeshSettings), None),
        "enable_hbao": (_flag, False),
    }  # fmt: skip


class CameraSensorSpec(_Bound):
    attributes = {  # noqa: RUF012
        "uuid": (_text, ""), "sensor_type": (_one_of(SensorType), SensorType.NONE),
        "sensor_subtype": (_one_of(SensorSubType), SensorSubType.NONE), "position": (_numbers(3), [0.0, 1.5, 0.0]),
        "orientation": (_numbers(3), [0.0, 0.0, 0.0]), "noise_model": (_text, "None"), "near": (_number, 0.01),
        "far": (_number, 1000.0), "resolution": (_numbers(2, _whole), [84, 84]), "gpu2gpu_transfer": (_flag, False),
        "channels": (_whole, 4), "hfov": (_number, 90.0), "ortho_scale": (_number, 0.1),
    }  # fmt: skip


@dataclass
class ActuationSpec:
    amount: float
    constraint: float | None = None


@dataclass
class ActionSpec:
    name: str
    actuation: ActuationSpec | None = None


@dataclass(slots=True)
class AgentConfiguration:
    height: float = 1.5
    radius: float = 0.1
    sensor_specifications: list[CameraSensorSpec] = field(default_factory=list)
    action_space: dict[Any, ActionSpec] = field(default_factory=dict)
    body_type: str = "cylinder"


@dataclass(slots=True)
class AgentState:
    position: Any = field(default_factory=lambda: np.zeros(3))
    rotation: Any = Quaternion(1.0, 0.0, 0.0, 0.0)
    sensor_states: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Configuration:
    sim_cfg: SimulatorConfiguration
    agents: list[AgentConfiguration]
    metadata_mediator: Any = None
    enable_batch_renderer: bool = False


class ShortestPath(_Bound):
    attributes = {  # noqa: RUF012
        "requested_start": (_numbers(3), [0.0] * 3), "requested_end": (_numbers(3), [0.0] * 3),
        "points": (list, []), "geodesic_distance": (_number, 0.0),
    }  # fmt: skip


class PathFinder:
    has_mesh = True  # changed by tests

    def __init__(self) -> None:
        self.views = 0

    @property
    def is_loaded(self) -> bool:
        return self.has_mesh

    def get_bounds(self) -> tuple[Vector3, Vector3]:
        return Vector3([-1.0, 0.5, 2.0]), Vector3([5.0, 3.5, 6.0])

    def get_topdown_view(self, meters_per_pixel: float, height: float, eps: float = 0.5) -> np.ndarray:
        return self.get_topdown_island_view(meters_per_pixel, height, eps) >= 0

    def get_topdown_island_view(self, meters_per_pixel: float, height: float, eps: float = 0.5) -> np.ndarray:
        self.views += 1
        metres = _number(meters_per_pixel)
        rows, columns = int(np.float32(4.0) / np.float32(metres)), int(np.float32(6.0) / np.float32(metres))
        view = np.full((rows, columns), 1 if abs(_number(height) - 0.5) <= eps else -1, np.int32)
        view[: rows // 2, : columns // 3] = -1
        if abs(_number(height) - 0.9) <= eps:  # the top of the bed, and its sides
            view[rows // 8 : 3 * rows // 8, columns * 2 // 3 : columns * 11 // 12] = -1
            view[rows * 3 // 16 : rows * 5 // 16, columns * 17 // 24 : columns * 21 // 24] = 0
        return np.asfortranarray(view)  # the layout of Eigen matrices

    def find_path(self, path: ShortestPath) -> bool:
        path.points = [path.requested_start, path.requested_end]  # type: ignore[attr-defined]
        return True


class Agent:
    def __init__(self, configuration: AgentConfiguration) -> None:
        self.agent_config = configuration
        self.acts: list[str] = []
        self._position, self._turn = np.zeros(3, np.float32), 0.0

    def act(self, action_id: Any) -> bool:
        assert action_id in self.agent_config.action_space, f"No action {action_id} in action space"
        self.acts.append(action_id)
        action = self.agent_config.action_space[action_id]
        assert action.actuation is not None
        if action.name == "move_forward":
            ahead = np.array([-math.sin(self._turn), 0.0, -math.cos(self._turn)])
            self._position = (self._position + action.actuation.amount * ahead).astype(np.float32)
        else:
            sign = {"turn_left": 1, "turn_right": -1}[action.name]
            self._turn += sign * math.radians(action.actuation.amount)
        return False

    def set_state(
        self,
        state: AgentState,
        reset_sensors: bool = True,
        infer_sensor_states: bool = True,
        is_initial: bool = False,
    ) -> None:
        if not np.isfinite(state.position).all():
            raise ValueError(f"{state.position} contains non-finite values")
        if isinstance(state.rotation, list | np.ndarray):
            x, y, z, w = state.rotation
            state.rotation = Quaternion(w, x, y, z)
        turn = state.rotation
        if not math.isclose(math.hypot(turn.w, turn.x, turn.y, turn.z), 1.0, rel_tol=1e-4):
            raise ValueError(f"{turn} is not a unit length vector")
        self._position, self._turn = np.array(_numbers(3)(state.position), np.float32), 2 * math.atan2(turn.y, turn.w)

    def get_state(self) -> AgentState:
        half = self._turn / 2
        return AgentState(self._position.copy(), Quaternion(math.cos(half), 0.0, math.sin(half), 0.0))


class Simulator:
    made: list[Simulator] = []  # noqa: RUF012 (inspected by tests)
    _drawing: Simulator | None = None

    def __init__(self, config: Configuration) -> None:
        self.config, self.calls, self.agents = config, list[str](), list[Agent]()
        self.pathfinder: PathFinder | None = None
        self._has_renderer = False
        Simulator.made.append(self)
        self._load(config)

    def _load(self, config: Configuration) -> None:
        if Simulator._drawing not in (None, self):
            raise SystemError("two simulators in one process: segmentation fault")
        _one_of(SimulatorConfiguration)(config.sim_cfg)
        device = config.sim_cfg.gpu_device_id  # type: ignore[attr-defined]
        if device >= int(os.environ.get("FAKE_CUDA_DEVICES", "0")):
            place = "Platform::WindowlessEglApplication::tryCreateContext():"
            print(f"{place} unable to find CUDA device {device} among 1 EGL devices in total", file=sys.stderr)
            print("WindowlessContext: Unable to create windowless context", file=sys.stderr)
            raise SystemExit(1)  # as it does, without an exception that could be caught
        if os.environ.get("FAKE_LOADING"):
            _wait_for_others(Path(os.environ["FAKE_LOADING"]), int(os.environ["FAKE_MEETING_SIZE"]))
        Simulator._drawing, self._has_renderer = self, True
        assert all(spec.uuid for agent in config.agents for spec in agent.sensor_specifications)
        self.pathfinder = PathFinder()
        self.agents = [Agent(agent) for agent in config.agents]

    def get_agent(self, agent_id: int) -> Agent:
        return self.agents[agent_id]

    def initialize_agent(self, agent_id: int, initial_state: AgentState | None = None) -> Agent:
        assert initial_state is not None
        self.agents[agent_id].set_state(initial_state, is_initial=True)
        return self.agents[agent_id]

    def reconfigure(self, config: Configuration) -> None:
        self.calls.append("reconfigure")
        if self.config != config:
            self._load(config)
            self.config = config

    def close(self, destroy: bool = True) -> None:
        self.calls.append(f"close {destroy}")
        if not (destroy or self._has_renderer):
            raise SystemError("closed twice without destroy: segmentation fault")
        self.agents, self.pathfinder, self._has_renderer = [], None, False
        if Simulator._drawing is self:
            Simulator._drawing = None

    def get_sensor_observations(self, agent_ids: int = 0) -> dict[str, np.ndarray]:
        if meeting := os.environ.get("FAKE_MEETING"):
            _wait_for_others(Path(meeting), int(os.environ["FAKE_MEETING_SIZE"]))
        seen = {}
        for camera in self.agents[agent_ids].agent_config.sensor_specifications:
            height, width = (int(pixels) for pixels in camera.resolution)  # type: ignore[attr-defined]
            if camera.sensor_type is SensorType.COLOR:  # type: ignore[attr-defined]
                picture = np.full((height, width, 4), (10, 20, 30, 255), np.uint8)
                picture[0] = 40  # the top row
            else:
                picture = np.full((height, width), 2.5, np.float32)
            seen[camera.uuid] = np.flip(picture[::-1].copy(), axis=0)  # type: ignore[attr-defined]
        return seen
