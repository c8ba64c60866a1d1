"""Draws the pictures of `README.md`: python -m bonuslab.envs.habitat.gallery [--out FOLDER]"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from bonuslab.envs.habitat.apartments.bird_view import bird_view
from bonuslab.envs.habitat.apartments.drawing import draw
from bonuslab.envs.habitat.apartments.scene import apartment
from bonuslab.envs.habitat.env import HabitatEnv
from bonuslab.envs.habitat.explorer import Policy, frontier_policy, random_policy
from bonuslab.envs.habitat.render import depth_picture, frame, save_gif, side_by_side, stacked, top_down
from bonuslab.envs.habitat.spaces import MAX_DEPTH_METRES

FOLDER = Path(__file__).parent / "pictures"
_SIZE = 256
_COLOURS = 256


def main(arguments: Sequence[str] | None = None) -> int:
    """Write all pictures."""
    parser = argparse.ArgumentParser(description="Draw the pictures of the README.")
    parser.add_argument("--out", type=Path, default=FOLDER, help="output folder")
    out: Path = parser.parse_args(arguments).out
    out.mkdir(parents=True, exist_ok=True)
    views = [
        best_view(number) for number in (104, 111, 144, 112, 107, 110, 113, 129, 116, 122, 127, 142, 146, 133, 115)
    ]
    rows = [side_by_side([view[0] for view in views[row : row + 5]], 180) for row in range(0, 15, 5)]
    _save(stacked(rows), out / "views.png")
    pairs = [picture for rgb, depth in views[:3] for picture in (rgb, depth_picture(depth / MAX_DEPTH_METRES))]
    _save(side_by_side(pairs, 168), out / "depth.png")
    plans = [bird_view(apartment(number)) for number in (3, 7, 13, 24, 40, 45, 46, 52)]
    _save(stacked([side_by_side(plans[row : row + 4], 230) for row in (0, 4)]), out / "plans.png")
    env = HabitatEnv(contexts=8, seed=4, size=_SIZE, held_out=True)
    context = (env.contexts.ids or (0,))[5]
    maps, strip = [], np.zeros(0, np.uint8)
    for policy in (random_policy(1), frontier_policy()):
        strip, seen = episode_pictures(env, policy, context)
        maps.append(seen)
    _save(stacked([side_by_side(maps, 300), strip]), out / "episodes.png")
    save_gif(video(env, frontier_policy(), context, every=20), out / "episode.gif", colours=32)
    return 0


def best_view(number: int, tries: int = 30) -> tuple[np.ndarray, np.ndarray]:
    """(rgb, depth in metres) of the widest and most varied of some random views."""
    scene, rng = apartment(number), np.random.default_rng(number)
    cells = np.argwhere(scene.map.navigable)
    best: tuple[float, np.ndarray, np.ndarray] | None = None
    for _ in range(tries):
        row, column = cells[rng.integers(len(cells))]
        rgb, depth = np.empty((_SIZE, _SIZE, 3), np.uint8), np.empty((_SIZE, _SIZE), np.float32)
        x, z = scene.map.x0 + (column + 0.5) * scene.map.cell, scene.map.z0 + (row + 0.5) * scene.map.cell
        draw(scene.geometry, x, z, rng.uniform(-np.pi, np.pi), rgb, depth)
        score = float(np.minimum(depth, 4.0).mean() + rgb[64:].astype(np.float32).std() / 25.0)
        if best is None or score > best[0]:
            best = score, rgb, depth
    assert best is not None
    return best[1], best[2]


def episode_pictures(
    env: HabitatEnv, policy: Policy, context: int, num_views: int = 6
) -> tuple[np.ndarray, np.ndarray]:
    """(strip of views, map with the path and what was seen) of one episode."""
    views = []
    observation, _ = env.reset(options={"context": context})
    for step in range(env.max_steps):
        if step % (env.max_steps // num_views) == env.max_steps // num_views // 2:
            views.append(observation["rgb"])
        observation, *_ = env.step(int(policy(env)))
    return side_by_side(views, 160), top_down(env.map, env.revealed, env.path, background=env.from_above())


def video(env: HabitatEnv, policy: Policy, context: int, every: int) -> list[np.ndarray]:
    """Frames of an episode."""
    observation, _ = env.reset(options={"context": context})
    background, frames = env.from_above(), []
    for step in range(env.max_steps):
        if step % every == 0:
            views = [observation["rgb"], depth_picture(observation["depth"])]
            shown = frame(views, env.map, env.revealed, env.path, env.coverage, background=background, height=96)
            frames.append(shown)
        observation, *_ = env.step(int(policy(env)))
    return frames


def _save(picture: np.ndarray, file: Path) -> None:
    image = Image.fromarray(picture)
    palette = image.quantize(_COLOURS)  # dithering needs an existing palette
    image.quantize(palette=palette, dither=Image.Dither.FLOYDSTEINBERG).save(file, optimize=True)


if __name__ == "__main__":
    sys.exit(main())
