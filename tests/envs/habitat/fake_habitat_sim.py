"""habitat-sim at its boundary: the names and signatures of version 0.3.3 that the back end uses, and what it was told.

Unknown attributes and arguments fail here as they would there. The world is one bare room of 6 x 4 metres whose
navigable floor begins at (-1, 0.5, 2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np


class _Strict:
    """Refuses attributes that the real class does not have."""

    fields: tuple[str, ...] = ()

    def __setattr__(self, name: str, value: object) -> None:
        if name not in self.fields:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        super().__setattr__(name, value)


class SimulatorConfiguration(_Strict):
    fields = (
        "scene_dataset_config_file", "scene_id", "random_seed", "default_agent_id", "gpu_device_id", "allow_sliding",
        "create_renderer", "leave_context_with_background_renderer", "frustum_culling", "enable_physics",
        "use_semantic_textures", "enable_gfx_replay_save", "physics_config_file", "override_scene_light_defaults",
        "scene_light_setup", "load_semantic_mesh", "force_separate_semantic_scene_graph", "requires_textures",
        "navmesh_settings", "enable_hbao",
    )  # fmt: skip


class NavMeshSettings(_Strict):
    fields = (
        "cell_size", "cell_height", "agent_height", "agent_radius", "agent_max_climb", "agent_max_slope",
        "region_min_size", "region_merge_size", "edge_max_len", "edge_max_error", "verts_per_poly",
        "detail_sample_dist", "detail_sample_max_error", "filter_low_hanging_obstacles", "filter_ledge_spans",
        "filter_walkable_low_height_spans", "include_static_objects",
    )  # fmt: skip

    def set_defaults(self) -> None:
        self.agent_radius, self.agent_height, self.agent_max_climb, self.agent_max_slope = 0.1, 1.5, 0.2, 45.0
        self.include_static_objects = False


class CameraSensorSpec(_Strict):
    fields = (
        "uuid", "sensor_type", "sensor_subtype", "resolution", "position", "orientation", "hfov", "near", "far",
        "channels", "gpu2gpu_transfer", "clear_color", "ortho_scale", "noise_model", "noise_model_kwargs", "parent",
    )  # fmt: skip


SensorType = SimpleNamespace(COLOR="color", DEPTH="depth", SEMANTIC="semantic")
SensorSubType = SimpleNamespace(PINHOLE="pinhole", ORTHOGRAPHIC="orthographic")


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
    sensor_specifications: list[Any] = field(default_factory=list)
    action_space: dict[Any, ActionSpec] = field(default_factory=dict)
    body_type: str = "cylinder"


@dataclass(slots=True)
class AgentState:
    position: Any = field(default_factory=lambda: np.zeros(3))
    rotation: Any = None
    sensor_states: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Configuration:
    sim_cfg: SimulatorConfiguration
    agents: list[AgentConfiguration]
    metadata_mediator: Any = None
    enable_batch_renderer: bool = False


class PathFinder:
    is_loaded = True

    def __init__(self) -> None:
        self.views = 0

    def get_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array([-1.0, 0.5, 2.0], np.float32), np.array([5.0, 3.5, 6.0], np.float32)

    def get_topdown_view(self, meters_per_pixel: float, height: float, eps: float = 0.5) -> np.ndarray:
        self.views += 1
        rows, columns = round(4 / meters_per_pixel), round(6 / meters_per_pixel)
        view = np.full((rows, columns), abs(height - 0.5) < eps)
        view[: rows // 2, : columns // 3] = False
        return np.asfortranarray(view)  # as Eigen's matrices arrive


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

    def set_state(self, state: AgentState, reset_sensors: bool = True) -> None:
        x, y, z, w = state.rotation
        assert math.isclose(math.hypot(x, y, z, w), 1.0, rel_tol=1e-4)
        self._position, self._turn = np.asarray(state.position), 2 * math.atan2(y, w)

    def get_state(self) -> AgentState:
        half = self._turn / 2
        return AgentState(self._position, SimpleNamespace(w=math.cos(half), x=0.0, y=math.sin(half), z=0.0))


class Simulator:
    made: list[Simulator] = []  # noqa: RUF012 (what the tests look at)

    def __init__(self, config: Configuration) -> None:
        self.calls: list[str] = []
        Simulator.made.append(self)
        self._load(config)

    def _load(self, config: Configuration) -> None:
        self.config, self.pathfinder = config, PathFinder()
        self.agents = [Agent(agent) for agent in config.agents]

    def get_agent(self, agent_id: int) -> Agent:
        return self.agents[agent_id]

    def initialize_agent(self, agent_id: int, initial_state: AgentState | None = None) -> Agent:
        assert initial_state is not None
        self.agents[agent_id].set_state(initial_state)
        return self.agents[agent_id]

    def reconfigure(self, config: Configuration) -> None:
        self.calls.append("reconfigure")
        self._load(config)

    def close(self, destroy: bool = True) -> None:
        self.calls.append(f"close {destroy}")

    def get_sensor_observations(self, agent_ids: int = 0) -> dict[str, np.ndarray]:
        seen = {}
        for camera in self.config.agents[0].sensor_specifications:
            height, width = camera.resolution
            if camera.sensor_type == SensorType.COLOR:
                colour = np.zeros((height, width, 4), np.uint8)
                colour[:] = (10, 20, 30, 255)
                seen[camera.uuid] = colour
            else:
                seen[camera.uuid] = np.full((height, width), 2.5, np.float32)
        return seen
