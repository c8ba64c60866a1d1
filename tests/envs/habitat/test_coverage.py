"""Coverage matches a literal implementation of line of sight, cell by cell."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from bonuslab.envs.habitat.apartments.scene import apartment
from bonuslab.envs.habitat.coverage import SIGHT_METRES, Coverage, ReleasedCoverage
from bonuslab.envs.habitat.simulator import NavigableMap, Pose


def cells_on(
    ray_start: tuple[float, float], direction: tuple[float, float], length: float
) -> list[tuple[float, tuple[int, int]]]:
    """(entry distance, cell) of every cell that a ray crosses, from its intersections with all grid lines."""
    cuts = {0.0}
    for start, speed in zip(ray_start, direction, strict=True):
        for line in range(math.floor(start) - math.ceil(length) - 1, math.floor(start) + math.ceil(length) + 2):
            if speed and 0 < (line - start) / speed <= length:
                cuts.add((line - start) / speed)
    edges = [*sorted(cuts), length + 1e-9]
    found = []
    for enter, leave in itertools.pairwise(edges):
        middle = (enter + leave) / 2
        cell = tuple(math.floor(start + middle * speed) for start, speed in zip(ray_start, direction, strict=True))
        found.append((enter, (cell[0], cell[1])))
    return found


def literally_revealed(map_: NavigableMap, pose: Pose) -> set[tuple[int, int]]:
    """Cells on rays over 90 degrees, one cell apart at 5 metres, up to the first that is not navigable.

    The agent's own cell never blocks.
    """
    reach = SIGHT_METRES / map_.cell
    rays = math.ceil(math.pi / 2 * reach) + 1
    start = (pose.z - map_.z0) / map_.cell, (pose.x - map_.x0) / map_.cell
    own = math.floor(start[0]), math.floor(start[1])
    revealed = set()
    for ray in range(rays):
        angle = pose.heading + math.radians(-45 + 90 * ray / (rays - 1))
        for _, (row, column) in cells_on(start, (-math.cos(angle), -math.sin(angle)), reach):
            inside = 0 <= row < map_.navigable.shape[0] and 0 <= column < map_.navigable.shape[1]
            if inside and map_.navigable[row, column]:
                revealed.add((row, column))
            elif not inside or (row, column) != own:
                break
    return revealed


def as_set(coverage: Coverage) -> set[tuple[int, int]]:
    return {(int(row), int(column)) for row, column in np.argwhere(coverage.revealed)}


def random_pose(map_: NavigableMap, rng: np.random.Generator) -> Pose:
    row, column = rng.permutation(np.argwhere(map_.navigable))[0]
    x, z = map_.x0 + (column + rng.random()) * map_.cell, map_.z0 + (row + rng.random()) * map_.cell
    return Pose(float(x), 0.0, float(z), float(rng.uniform(-7, 7)))


@pytest.mark.parametrize("seed", range(6))
def test_equals_the_definition_on_random_maps(seed: int) -> None:
    rng = np.random.default_rng(seed)
    map_ = NavigableMap(rng.random((70, 90)) < (0.9, 0.97, 0.995)[seed % 3], -1.3, 2.7, cell=0.1)
    coverage, literal = Coverage(map_), set()
    for _ in range(4):
        pose = random_pose(map_, rng)
        coverage.look(pose)
        literal |= literally_revealed(map_, pose)
        assert as_set(coverage) == literal
    assert coverage.fraction == pytest.approx(len(literal) / np.count_nonzero(map_.navigable), abs=1e-12)


def test_agent_on_a_blocked_cell_sees_past_it() -> None:
    navigable = np.ones((60, 60), bool)
    navigable[30, 30] = False
    map_ = NavigableMap(navigable, 0.0, 0.0, cell=0.1)
    coverage, pose = Coverage(map_), Pose(3.04, 0.0, 3.06, 0.4)
    coverage.look(pose)
    assert as_set(coverage) == literally_revealed(map_, pose)
    assert len(as_set(coverage)) > 400
    assert (30, 30) not in as_set(coverage)


def test_equals_the_definition_in_an_apartment() -> None:
    map_, rng = apartment(5).map, np.random.default_rng(1)
    coverage, literal = Coverage(map_), set()
    for _ in range(6):
        pose = random_pose(map_, rng)
        coverage.look(pose)
        literal |= literally_revealed(map_, pose)
    assert as_set(coverage) == literal
    assert 0.05 < coverage.fraction < 0.9


def test_open_floor_is_revealed_as_a_quarter_disc() -> None:
    map_ = NavigableMap(np.ones((400, 400), np.bool_), 0.0, 0.0)
    coverage = Coverage(map_)
    coverage.look(Pose(10.0, 0.0, 10.0, 0.4))
    area = np.count_nonzero(coverage.revealed) * map_.cell**2
    assert area == pytest.approx(math.pi * SIGHT_METRES**2 / 4, rel=0.03)
    rows, columns = np.nonzero(coverage.revealed)
    away_x, away_z = (columns + 0.5) * map_.cell - 10.0, (rows + 0.5) * map_.cell - 10.0
    assert np.hypot(away_x, away_z).max() < SIGHT_METRES + 2 * map_.cell
    centre = -np.sin(0.4) * away_x.mean() - np.cos(0.4) * away_z.mean()
    assert centre == pytest.approx(np.hypot(away_x.mean(), away_z.mean()), rel=1e-2)  # centred on the heading


def test_walls_hide_what_is_behind_them() -> None:
    navigable = np.ones((100, 100), np.bool_)
    navigable[50, 20:80] = False
    coverage = Coverage(NavigableMap(navigable, 0.0, 0.0))
    coverage.look(Pose(2.5, 0.0, 3.5, 0.0))
    assert coverage.revealed[55, 50]
    assert not coverage.revealed[:50, 40:60].any()
    assert not coverage.revealed[50].any()


def test_coverage_is_monotonic_and_idempotent() -> None:
    coverage = Coverage(apartment(5).map)
    rng = np.random.default_rng(0)
    last = 0.0
    for _ in range(20):
        pose = random_pose(coverage.map, rng)
        coverage.look(pose)
        fraction = coverage.fraction
        coverage.look(pose)
        assert last <= fraction == coverage.fraction <= 1.0
        last = fraction
    assert coverage.fraction == np.count_nonzero(coverage.revealed) / np.count_nonzero(coverage.map.navigable)


def test_nothing_is_revealed_without_navigable_floor() -> None:
    coverage = Coverage(NavigableMap(np.zeros((10, 10), np.bool_), 0.0, 0.0))
    coverage.look(Pose(0.2, 0.0, 0.2, 0.0))
    coverage.look(Pose(-5.0, 0.0, 0.2, 0.0))
    assert coverage.fraction == 0.0


def released_by_hand(map_: NavigableMap, path: list[Pose], goal: tuple[float, float, float] | None) -> float:
    """The released formula cell by cell: a picture with 0 wall, 1 plain floor, 2 anything drawn."""
    rows, columns = map_.navigable.shape
    drawn = map_.navigable.astype(int)
    for r, c in np.argwhere(map_.navigable):
        around = [(r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1)]
        if any(0 <= a < rows and 0 <= b < columns and not map_.navigable[a, b] for a, b in around):
            drawn[r, c] = 2
    width, margin = max(1, round(min(rows, columns) / 64)), 2 * math.ceil(min(rows, columns) / 128)
    seen = Coverage(map_)

    def square(x: float, z: float) -> None:
        row, column = map_.cell_of(x, z)
        for r, c in np.ndindex(rows, columns):
            if max(abs(r - row), abs(c - column)) <= margin:
                drawn[r, c] = 2

    for number, pose in enumerate(path):
        here, start = map_.cell_of(pose.x, pose.z), map_.cell_of(path[0].x, path[0].z)
        if number and max(abs(here[0] - start[0]), abs(here[1] - start[1])) > margin:
            one = np.array([path[number - 1].z - map_.z0, path[number - 1].x - map_.x0]) / map_.cell
            other = np.array([pose.z - map_.z0, pose.x - map_.x0]) / map_.cell
            for r, c in np.ndindex(rows, columns):
                centre = np.array([r + 0.5, c + 0.5])
                share = np.clip((centre - one) @ (other - one) / ((other - one) @ (other - one) or 1), 0, 1)
                if np.linalg.norm(centre - one - share * (other - one)) <= width / 2:
                    drawn[r, c] = 2
        seen._open = drawn > 0
        seen.look(pose)
        if number == 0:
            if goal is not None and pose.y < goal[1] < pose.y + 2:
                square(goal[0], goal[2])
            square(pose.x, pose.z)
    return np.count_nonzero(seen.revealed) / np.count_nonzero(drawn == 1)


@pytest.mark.parametrize("goal", [None, (0.42, 0.1, 0.61), (0.42, 2.1, 0.61)])
def test_released_coverage_equals_its_definition(goal: tuple[float, float, float] | None) -> None:
    rng = np.random.default_rng(0)
    navigable = rng.random((40, 66)) < 0.93
    map_ = NavigableMap(navigable, -1.0, -1.0)
    path = [Pose(0.31, 0.0, 0.21, 0.3)]
    for _ in range(9):
        x, y, z, heading = path[-1]
        path.append(Pose(x + 0.12, y, z + float(rng.uniform(-0.1, 0.1)), heading + 0.5))
    coverage = ReleasedCoverage(map_, goal)
    for number, pose in enumerate(path):
        coverage.look(pose)
        assert coverage.fraction == pytest.approx(released_by_hand(map_, path[: number + 1], goal))
    plain = Coverage(map_)
    for pose in path:
        plain.look(pose)
    assert coverage.fraction > plain.fraction


def test_the_shortest_path_is_drawn() -> None:
    map_ = NavigableMap(np.ones((60, 60), np.bool_), 0.0, 0.0)
    path = [(1.03, 0.0, 1.52), (2.03, 0.0, 1.52)]
    with_path, without = ReleasedCoverage(map_, None, path), ReleasedCoverage(map_)
    for coverage in (with_path, without):
        coverage.look(Pose(1.03, 0.0, 1.52, 0.0))
    assert with_path._plain.sum() == without._plain.sum() - 18  # 21 cells of 5 cm, of which 3 are in the start's square
    assert with_path.fraction > without.fraction
