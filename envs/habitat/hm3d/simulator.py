"""The calls to habitat-sim 0.3.3, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

from bonuslab.envs.habitat.hm3d.episodes import heading_of
from bonuslab.envs.habitat.simulator import (
    AGENT_HEIGHT,
    AGENT_RADIUS,
    CAMERA_HEIGHT,
    CELL_METRES,
    FIELD_OF_VIEW_DEGREES,
    FORWARD_METRES,
    TURN_DEGREES,
    Action,
    NavigableMap,
    Pose,
)

_MAX_CLIMB_METRES: Final = 0.2
_MAX_SLOPE_DEGREES: Final = 45.0
"""With radius and height, what HM3D's own navigation meshes were made for: they are then used as they are."""
_ACTIONS: Final = {Action.FORWARD: "move_forward", Action.LEFT: "turn_left", Action.RIGHT: "turn_right"}


class HM3DSimulator:
    """One agent in one house; see `Simulator`. `habitat_sim` is the module."""

    def __init__(
        self, habitat_sim: Any, scene_file: Callable[[int], Path], dataset: str, size: int, gpu_device: int = 0
    ) -> None:
        self._hs = habitat_sim
        self._scene_file, self._dataset, self._size, self._gpu_device = scene_file, dataset, size, gpu_device
        self._sim: Any = None
        self._scene: int | None = None
        self._maps: dict[float, NavigableMap] = {}

    def begin(self, scene: int, start: Pose) -> None:
        """Load a house, if another one is loaded, and put the agent there."""
        if scene != self._scene:
            configuration, self._scene = self._configuration(scene), None
            self._maps.clear()
            if self._sim is None:
                self._sim = self._hs.Simulator(configuration)
            else:  # as habitat-lab does: the old scene's memory is freed first, the graphics context stays
                self._sim.close(destroy=False)
                self._sim.reconfigure(configuration)
            self._scene = scene
        if not self._sim.pathfinder.is_loaded:
            raise RuntimeError(f"{self._scene_file(scene)} has no navigation mesh, and none could be computed")
        state = self._hs.AgentState()
        state.position = np.array([start.x, start.y, start.z], np.float32)
        state.rotation = [0.0, math.sin(start.heading / 2), 0.0, math.cos(start.heading / 2)]  # x, y, z, w
        self._sim.initialize_agent(0, state)

    def act(self, action: Action) -> None:
        """Move or turn; habitat-sim slides along walls."""
        if action in _ACTIONS:
            self._sim.get_agent(0).act(_ACTIONS[action])

    @property
    def pose(self) -> Pose:
        """Where the agent is."""
        state = self._sim.get_agent(0).get_state()
        x, y, z = (float(value) for value in state.position)
        turn = state.rotation
        return Pose(x, y, z, heading_of(turn.x, turn.y, turn.z, turn.w))

    def render(self, rgb: np.ndarray, depth: np.ndarray) -> None:
        """Draw what the agent sees."""
        seen = self._sim.get_sensor_observations()
        rgb[:] = seen["rgb"][:, :, :3]
        depth[:] = seen["depth"]

    def navigable_map(self) -> NavigableMap:
        """The floor that the agent stands on, all of it that is within half a metre of the agent's height."""
        height = round(self.pose.y, 2)
        if height not in self._maps:
            pathfinder = self._sim.pathfinder
            lowest = pathfinder.get_bounds()[0]
            view = pathfinder.get_topdown_view(meters_per_pixel=CELL_METRES, height=height)  # [along z, along x]
            # The first point that is asked for is the corner of the bounds: it is the middle of our first cell.
            x0, z0 = float(lowest[0]) - CELL_METRES / 2, float(lowest[2]) - CELL_METRES / 2
            self._maps[height] = NavigableMap(np.ascontiguousarray(view, np.bool_), x0, z0)
        return self._maps[height]

    def close(self) -> None:
        """Give back memory and graphics."""
        if self._sim is not None:
            self._sim.close()
            self._sim = None
        self._scene = None

    def _configuration(self, scene: int) -> Any:
        hs = self._hs
        simulator = hs.SimulatorConfiguration()
        simulator.scene_dataset_config_file = self._dataset
        simulator.scene_id = str(self._scene_file(scene))
        simulator.gpu_device_id = self._gpu_device
        simulator.allow_sliding = True
        simulator.enable_physics = False
        simulator.navmesh_settings = hs.NavMeshSettings()
        simulator.navmesh_settings.set_defaults()
        simulator.navmesh_settings.agent_radius = AGENT_RADIUS
        simulator.navmesh_settings.agent_height = AGENT_HEIGHT
        simulator.navmesh_settings.agent_max_climb = _MAX_CLIMB_METRES
        simulator.navmesh_settings.agent_max_slope = _MAX_SLOPE_DEGREES
        agent = hs.AgentConfiguration()
        agent.radius, agent.height = AGENT_RADIUS, AGENT_HEIGHT
        agent.sensor_specifications = [
            self._camera("rgb", hs.SensorType.COLOR),
            self._camera("depth", hs.SensorType.DEPTH),
        ]
        agent.action_space = {
            "move_forward": hs.ActionSpec("move_forward", hs.ActuationSpec(amount=FORWARD_METRES)),
            "turn_left": hs.ActionSpec("turn_left", hs.ActuationSpec(amount=TURN_DEGREES)),
            "turn_right": hs.ActionSpec("turn_right", hs.ActuationSpec(amount=TURN_DEGREES)),
        }
        return hs.Configuration(simulator, [agent])

    def _camera(self, name: str, kind: Any) -> Any:
        camera = self._hs.CameraSensorSpec()
        camera.uuid = name
        camera.sensor_type = kind
        camera.sensor_subtype = self._hs.SensorSubType.PINHOLE
        camera.resolution = [self._size, self._size]
        camera.position = [0.0, CAMERA_HEIGHT, 0.0]
        camera.orientation = [0.0, 0.0, 0.0]
        camera.hfov = FIELD_OF_VIEW_DEGREES
        return camera
