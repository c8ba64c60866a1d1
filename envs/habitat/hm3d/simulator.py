"""All calls to habitat-sim 0.3.3."""

from __future__ import annotations

import math
import os
from importlib import import_module
from typing import Any, Final

import numpy as np

from bonuslab.envs.errors import Unavailable
from bonuslab.envs.habitat.hm3d.devices import choose_device
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
    Point,
    Pose,
)

_MAX_CLIMB_METRES: Final = 0.2
_MAX_SLOPE_DEGREES: Final = 45.0
"""Like radius and height, habitat-sim's defaults, so that the navigation meshes shipped with the scenes are used."""
_RELEASED_PIXELS: Final = 1024
"""Shorter side of the map on which the released program measures coverage."""
_ACTIONS: Final = {Action.FORWARD: "move_forward", Action.LEFT: "turn_left", Action.RIGHT: "turn_right"}


def import_habitat_sim() -> Any:
    """Import habitat-sim with logging off."""
    for variable in ("MAGNUM_LOG", "HABITAT_SIM_LOG"):
        os.environ.setdefault(variable, "quiet")
    try:
        return import_module("habitat_sim")
    except ImportError as error:
        raise Unavailable(
            f"HM3D needs habitat-sim 0.3.3, which cannot be imported ({error}); docs/habitat.md says how to install it"
        ) from error


class HabitatSim:
    """One agent in one house; only one per process, since habitat-sim supports a single graphics context."""

    def __init__(self, habitat_sim: Any, dataset: str, size: int, gpu_device: int | str, islands: str) -> None:
        """`habitat_sim` is the module, `dataset` the scene dataset config file; for the rest, see `HM3DScenes`."""
        self._hs = habitat_sim
        self._dataset, self._size, self._gpu_device = dataset, size, choose_device(gpu_device)
        self._islands = islands
        self._sim: Any = None
        self._scene = ""
        self._maps: dict[tuple[float, float], NavigableMap] = {}

    def begin(self, scene_file: str, start: Pose) -> Pose:
        """Load a scene, unless it is already loaded, and put the agent at `start`; returns its pose."""
        if scene_file != self._scene:
            self._load(scene_file)
        if not self._sim.pathfinder.is_loaded:
            raise RuntimeError(f"{scene_file} has no navigation mesh, and none could be computed")
        state = self._hs.AgentState()
        state.position = np.array([start.x, start.y, start.z], np.float32)
        state.rotation = [0.0, math.sin(start.heading / 2), 0.0, math.cos(start.heading / 2)]  # x, y, z, w
        self._sim.initialize_agent(0, state)
        return self._pose()

    def act(self, action: Action) -> Pose:
        """Move or turn without rendering; returns the new pose. The agent slides along walls."""
        if action in _ACTIONS:
            self._sim.get_agent(0).act(_ACTIONS[action])
        return self._pose()

    def look(self) -> tuple[np.ndarray, np.ndarray]:
        """The agent's view: [H, W, 3] uint8, and [H, W] float32 metres, 0 where the scan has a hole."""
        seen = self._sim.get_sensor_observations()
        return np.ascontiguousarray(seen["rgb"][:, :, :3]), np.ascontiguousarray(seen["depth"])

    def navigable_map(self) -> NavigableMap:
        """The navigable floor within half a metre of the agent's height, as far as `islands` says."""
        return self._map(CELL_METRES, self._islands == "largest")

    def released_map(self, goal: Point | None) -> tuple[NavigableMap, list[Point]]:
        """See `Simulator`: the shorter side has 1,024 cells, and all islands count."""
        low, high = self._sim.pathfinder.get_bounds()
        shorter = min(float(high[axis]) - float(low[axis]) for axis in (0, 2))
        return self._map(shorter / _RELEASED_PIXELS, False), [] if goal is None else self._shortest_path(goal)

    def _map(self, cell: float, largest: bool) -> NavigableMap:
        height = round(self._pose().y, 2)
        if (height, cell) not in self._maps:
            pathfinder = self._sim.pathfinder
            lowest = pathfinder.get_bounds()[0]
            # [along z, along x]: the number of the island, -1 where the agent cannot stand
            islands = np.ascontiguousarray(pathfinder.get_topdown_island_view(cell, height))
            floor = islands >= 0
            if largest and floor.any():
                floor = islands == np.bincount(islands[floor]).argmax()
            # habitat-sim samples from the corner of the bounds, which is the centre of our first cell.
            x0, z0 = float(lowest[0]) - cell / 2, float(lowest[2]) - cell / 2
            self._maps[height, cell] = NavigableMap(floor, x0, z0, cell)
        return self._maps[height, cell]

    def _shortest_path(self, goal: Point) -> list[Point]:
        path = self._hs.ShortestPath()
        pose = self._pose()
        path.requested_start = np.array([pose.x, pose.y, pose.z], np.float32)
        path.requested_end = np.array(goal, np.float32)
        found = self._sim.pathfinder.find_path(path)
        return [(float(x), float(y), float(z)) for x, y, z in path.points] if found else []

    def close(self) -> None:
        """Release all resources."""
        self._scene = ""
        simulator, self._sim = self._sim, None
        if simulator is not None:
            simulator.close()

    def _pose(self) -> Pose:
        state = self._sim.get_agent(0).get_state()
        x, y, z = (float(value) for value in state.position)
        turn = state.rotation  # a numpy-quaternion
        return Pose(x, y, z, heading_of(turn.x, turn.y, turn.z, turn.w))

    def _load(self, scene_file: str) -> None:
        configuration = self._configuration(scene_file)
        self._scene = ""
        self._maps.clear()
        if self._sim is None:
            self._sim = self._hs.Simulator(configuration)
        else:
            try:  # as habitat-lab does: frees the old scene first, keeps the dataset's metadata
                self._sim.close(destroy=False)
                self._sim.reconfigure(configuration)
            except Exception:
                self.close()  # closing it again without destroying it would crash the process
                raise
        self._scene = scene_file

    def _configuration(self, scene_file: str) -> Any:
        hs = self._hs
        simulator = hs.SimulatorConfiguration()
        simulator.scene_dataset_config_file = self._dataset
        simulator.scene_id = scene_file
        simulator.gpu_device_id = self._gpu_device
        simulator.allow_sliding = True
        simulator.enable_physics = False
        simulator.load_semantic_mesh = False  # the default loads it, but it is not used
        navigation = hs.NavMeshSettings()
        navigation.set_defaults()
        navigation.agent_radius = AGENT_RADIUS
        navigation.agent_height = AGENT_HEIGHT
        navigation.agent_max_climb = _MAX_CLIMB_METRES
        navigation.agent_max_slope = _MAX_SLOPE_DEGREES
        simulator.navmesh_settings = navigation
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
        camera.resolution = [self._size, self._size]  # height, width
        camera.position = [0.0, CAMERA_HEIGHT, 0.0]
        camera.orientation = [0.0, 0.0, 0.0]
        camera.hfov = FIELD_OF_VIEW_DEGREES
        return camera
