"""What every cell pays at the start of an episode, on a new map each time: `python docs/pictures/contexts.py`.

A scripted explorer plays the episodes; counts of positions give the bonuses. Writes contexts-light.svg and
contexts-dark.svg.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from bonuslab.envs.minihack.family import FAMILY
from bonuslab.envs.minihack.known_map import FLOOR
from bonuslab.experiments.value_functions.floor_plan import COLUMNS, ROWS, FloorPlan, plan_of_level
from bonuslab.platform.pictures.palette import SCOPE_COLOURS

TASK = "MultiRoom-N6"
EPISODES = (1, 10, 200)
"""Those that are drawn."""
THEMES = {"light": ("#333333", "#ffffff", "#eceff1"), "dark": ("#dddddd", "#1e2129", "#2f3440")}
"""Text, background, and a cell that pays nothing."""


def play() -> list[tuple[FloorPlan, np.ndarray]]:
    """The plan of each drawn episode, and N [21, 79] before it."""
    env = FAMILY.make_env(TASK, contexts="inf", seed=3)
    visits = np.zeros((ROWS, COLUMNS), np.int64)
    found = []
    for episode in range(1, max(EPISODES) + 1):
        agent = FAMILY.scripted_agent(TASK, seed=episode)
        observation, _ = env.reset()
        if episode in EPISODES:
            found.append((plan_of_level(env.level), visits.copy()))
        ended = False
        while not ended:
            x, y = observation["blstats"][:2]
            visits[y, x] += 1
            observation, _, terminated, truncated, _ = env.step(agent(observation, env))
            ended = terminated or truncated
    env.close()
    return found


def draw(episodes: list[tuple[FloorPlan, np.ndarray]], theme: str) -> Figure:
    """A column per episode; above the global bonus, below the episodic one."""
    text, background, nothing = THEMES[theme]
    shown = np.array([plan.terrain != 0 for plan, _ in episodes]).any(0)
    (top, *_, bottom), (left, *_, right) = np.flatnonzero(shown.any(1)), np.flatnonzero(shown.any(0))
    figure = Figure(figsize=(8.4, 5.2), layout="constrained")
    axes = figure.subplots(2, len(episodes))
    for row, scope in enumerate(("global", "episodic")):
        colours = LinearSegmentedColormap.from_list(scope, [nothing, SCOPE_COLOURS[scope]])
        colours.set_bad(background)
        for column, (plan, visits) in enumerate(episodes):
            bonus = np.minimum(1 / np.sqrt(np.maximum(visits, 1)), 1.0) if scope == "global" else np.ones(visits.shape)
            doors = [obstacle.cell for obstacle in plan.obstacles]
            floor = plan.terrain == FLOOR
            floor[tuple(zip(*[plan.start, plan.goal, *doors], strict=True))] = True
            axis = axes[row, column]
            seen = np.ma.masked_where(~floor, bonus)[top : bottom + 1, left : right + 1]
            picture = axis.imshow(seen, cmap=colours, vmin=0, vmax=1)
            for (y, x), mark in ((plan.start, "start"), (plan.goal, "goal")):
                axis.annotate(
                    mark, (x - left, y - top), (0, 9), textcoords="offset points", ha="center", color=text, fontsize=8,
                    bbox={"boxstyle": "round,pad=0.15", "fc": background, "ec": text, "lw": 0.5},
                )  # fmt: skip
                symbol, size = ("o", 5) if mark == "start" else ("*", 9)
                axis.plot(x - left, y - top, symbol, color=text, markersize=size)
            axis.set_xticks([], [])
            axis.set_yticks([], [])
            axis.spines[:].set_visible(False)
            if row == 0:
                axis.set_title(f"start of episode {EPISODES[column]}", color=text, fontsize=11, pad=14)
        axes[row, 0].set_ylabel(
            {"global": "global: 1 / √$N$", "episodic": "episodic: 1[$N_e$ = 1]"}[scope], color=text, fontsize=11
        )
        bar = figure.colorbar(picture, ax=axes[row, :], shrink=0.8, pad=0.01, ticks=[0, 0.5, 1])
        bar.ax.tick_params(colors=text, labelsize=8)
        bar.set_label("bonus of a cell", color=text, fontsize=9)
        bar.outline.set_visible(False)
    return figure


def main() -> None:
    """Play once and draw both themes."""
    mpl.rcParams["svg.hashsalt"] = "bonuslab"
    episodes = play()
    for theme in THEMES:
        path = Path(__file__).with_name(f"contexts-{theme}.svg")
        draw(episodes, theme).savefig(path, transparent=True, metadata={"Date": None})
        print(path)


if __name__ == "__main__":
    main()
