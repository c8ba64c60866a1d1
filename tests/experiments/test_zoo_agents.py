"""The zoo's agents repeat trials of the experiments, and every claim has a video that can be made again."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from bonuslab.experiments import zoo_agents
from bonuslab.platform.run import zoo

MOST_BYTES = 2_000_000


def test_every_agent_has_the_settings_of_its_trial() -> None:
    entries = zoo.entries()
    assert entries.keys() == zoo_agents.AGENTS.keys()
    for name, entry in entries.items():
        config = zoo_agents.AGENTS[name].config()
        assert (entry.task, entry.bonus, entry.contexts) == (config.task, config.bonus, config.contexts)
        assert (entry.algorithm, entry.preset, entry.seed) == (config.algorithm, config.preset, config.seed)
        assert entry.changed == {**config.hyperparameters, **config.env}
        assert entry.env_steps >= config.steps


def test_every_claim_has_a_small_video() -> None:
    assert {path.stem for path in zoo_agents.VIDEOS.iterdir()} == zoo_agents.CLAIMS.keys()
    for name, claim in zoo_agents.CLAIMS.items():
        path = zoo_agents.VIDEOS / f"{name}.{claim.file_type}"
        assert path.stat().st_size <= MOST_BYTES
        if claim.file_type == "gif":
            with Image.open(path) as video:
                assert video.n_frames > 10
                assert video.width > 400 * len(claim.agents)


def test_a_video_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setattr(zoo_agents, "VIDEOS", tmp_path / "videos")
    monkeypatch.setattr(zoo_agents, "CLAIMS", {"messages": zoo_agents.CLAIMS["messages"]})
    assert zoo_agents.main(["messages"]) == 0
    with Image.open(tmp_path / "videos" / "messages.gif") as video:
        assert video.n_frames > 10
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(", ")[0] for line in lines] == [
        "messages.gif: count.global(feature=message)",
        "messages.gif: count.episodic(feature=message)",
    ]
    assert zoo_agents.main(["nobody"]) == 2
    assert "unknown agent or video 'nobody'" in capsys.readouterr().err
