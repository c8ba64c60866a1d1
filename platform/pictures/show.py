"""Episodes of a trained policy, shown step by step with the bonus below."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from bonuslab.envs.family import Album
from bonuslab.platform.pictures import bonus_plot
from bonuslab.platform.pictures.live_lines import LiveLines
from bonuslab.platform.pictures.palette import shown_scope
from bonuslab.platform.pictures.video import Video

if TYPE_CHECKING:
    from bonuslab.platform.run.agent import Recording, TrainedAgent

# RLlib takes seconds to import, so `--help` does not.


def play(
    agent: TrainedAgent, seed: int = 0, greedy: bool = False, context: int | None = None, episodes: int = 1
) -> list[Show]:
    """Play episodes; contexts and actions are drawn with `seed`."""
    import torch

    random, album, env = torch.Generator().manual_seed(seed), agent.family.album(), agent.make_env(seed)
    shows, first = [], 0
    try:
        for _ in range(episodes):
            recording = agent.play(env, album, random, greedy, context)
            shows.append(Show(recording, agent, album, first, greedy))
            first += len(recording.captions)
    finally:
        env.close()
    return shows


def video_of(shows: list[Show]) -> Video:
    """A video of the episodes returned by one `play`."""
    video = Video(shows[0].album, bonus_plot.COLOURS)
    for show in shows:
        show.add_to(video)
    return video


class Show:
    """One episode, whose frames are in an album from number `first` on."""

    def __init__(self, recording: Recording, agent: TrainedAgent, album: Album, first: int, greedy: bool) -> None:
        self.album = album
        self.first = first
        self._task = agent.family.canonical_name(agent.config.env)
        self._recording = recording
        self._how = "greedy" if greedy else "sampled"
        self.series = _series(recording, agent)
        self.lines = self._status_lines(agent.family.action_names(agent.config.env))

    @property
    def title(self) -> str:
        """Which episode it is."""
        return f"context {self._recording.context}, {self._how}"

    def add_to(self, video: Video) -> None:
        """Add every frame, with the bonus so far below it."""
        for step, line in enumerate(self.lines):
            below = partial(bonus_plot.panel, self.series, step) if self.series else None
            video.add(self.first + step, line, below, hold=self._is_last(step))

    def in_terminal(self, delay: float) -> None:
        """Draw every step in place, or only the last one if the output is not a terminal or too small."""
        columns, rows = shutil.get_terminal_size()
        plain = [self.album.text(self.first + step, columns, colour=False) for step in range(len(self.lines))]
        width = max((len(line) for lines in plain for line in lines), default=0)
        if not sys.stdout.isatty() or columns < width or rows < len(plain[-1]) + len(self.series) + 3:
            print("\n".join(self._lines(len(self.lines) - 1, min(columns, 100), colour=False)))
            return
        with LiveLines() as screen:
            for step in range(len(self.lines)):
                screen.show(self._lines(step, columns - 1, colour=True))
                if not self._is_last(step):
                    time.sleep(delay)

    def summary(self) -> str:
        """The episode in one line."""
        recording = self._recording
        played = f"{self._task} context {recording.context}, {self._how}: {recording.outcome}"
        result = f"return {sum(recording.rewards):.2f}"
        result += f", total bonus {float(recording.bonus.sum()):.3g}" if self.series else ""
        return f"{played} after {len(recording.actions)} steps, {result}"

    def _is_last(self, step: int) -> bool:
        return step == len(self._recording.actions)

    def _lines(self, step: int, width: int, colour: bool) -> list[str]:
        return [
            *self.album.text(self.first + step, width, colour),
            self.lines[step][:width],
            *bonus_plot.text_lines(self.series, step, width, colour),
        ]

    def _status_lines(self, action_names: Sequence[str]) -> list[str]:
        """For every frame: step, return, caption, and the last action or the outcome."""
        recording, lines, total = self._recording, [], 0.0
        for step, caption in enumerate(recording.captions):
            action = action_names[recording.actions[step - 1]] if step else ""
            total += recording.rewards[step - 1] if step else 0.0
            last = recording.outcome if self._is_last(step) else action
            lines.append("   ".join([f"step {step}", f"return {total:.2f}", caption, last]))
        return lines


def _series(recording: Recording, agent: TrainedAgent) -> list[bonus_plot.BonusSeries]:
    """The bonus, and its episodic and global part if it has both; nothing for an agent that plays without."""
    bonus = agent.bonus.bonus
    if bonus.scope == "none":
        return []
    scope = shown_scope(str(bonus), bonus.scope)
    values = {"episodic": recording.bonus_episodic, "global": recording.bonus_global}
    parts = [bonus_plot.BonusSeries(of, f"{of}: {part}", values[of], of) for of, part in agent.parts.items()]
    return [bonus_plot.BonusSeries("bonus", f"bonus: {bonus}", recording.bonus, scope), *parts]
