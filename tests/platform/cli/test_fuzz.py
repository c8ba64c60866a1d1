"""Random command lines: run, or refused with one message and status 2 before Ray starts; never a traceback."""

from __future__ import annotations

import random
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import ray

from bonuslab.platform.cli.main import main
from bonuslab.platform.run.folder import GridFolder

DIGITS = "9" * 5_000
STRANGE = [
    "",
    " ",
    "-1",
    "--",
    "-",
    "0",
    "nan",
    "inf",
    "-inf",
    "1e400",
    "0x10",
    "1_000",
    "٣",
    "²",
    "é",
    "\udc80",
    "\x00",
]
STRANGE += [
    DIGITS,
    f"-{DIGITS}",
    "a" * 5_000,
    "../..",
    "/",
    "/dev/null",
    "/proc/self",
    "~",
    "~nobody-here",
    "$HOME",
    "%s",
]
STRANGE += [
    "{}",
    "[]",
    "null",
    "true",
    "None",
    "'",
    '"',
    "a\nb",
    "=",
    "x=",
    "=x",
    "a=b=c",
    "*",
    "é" * 300,
    "\u202e",
    "💥",
]
NUMBERS = ["1", "2", "7", "100", str(2**31), str(2**32), str(2**53), str(2**70)]
TASKS = [
    "MultiRoom-N2-S4",
    "KeyRoom-S5",
    "multiroom-n2-s4",
    "MultiRoom-N999",
    "CartPole-v1",
    "os:system",
    "a:b",
    "Habitat",
]
BONUSES = [
    "none",
    "e3b",
    "e3b * rnd",
    "e3b * ",
    "((((",
    "e3b(ridge=0)",
    "e3b(ridge=-1)",
    "2 * 3",
    "import os",
    "e3b+" * 3_000,
]
SETTINGS = [
    "lr=3e-4",
    "lr=-1",
    "lr=nan",
    "lr=1e400",
    "evaluation_episodes=0",
    "evaluation_duration=0",
    "grad_clip=none",
]
SETTINGS += [
    f"unroll_length={2**32}",
    f"rollout_fragment_length={2**32}",
    "bonus_network=zzz",
    "network=zzz",
    "network=",
]
SETTINGS += [
    f"num_epochs={DIGITS}",
    f"num_epochs={2**70}",
    "num_minibatches=0",
    "recurrent=maybe",
    "optimiser=sgd",
    "zzz=1",
]
SETTINGS += [f"total_env_steps={2**60}", "gamma=2", "normalise=zzz", "bonus_variant=zzz", "bonus_updates=0"]
ENVS = [
    "max_steps=10",
    "max_steps=0",
    "max_steps=-5",
    f"max_steps={DIGITS}",
    "max_steps=nan",
    "seed=3",
    "zzz=1",
    "contexts=2",
]
URIS = [
    "sqlite:///x.db",
    "sqlite://x",
    "http://[::1",
    "http://me:secret@",
    "mlruns",
    "ftp://h",
    "http://a b",
    "://",
    "databricks",
]
RUNS = ["grid", "grid/nothing", "runs/grid", "nothing", "runs", "."]
ADDRESSES = ["local", "x:y", "127.0.0.1:1", "ray://h:1", ":", "127.0.0.1:99999", f"127.0.0.1:{DIGITS}"]
RUN = {"--steps": NUMBERS, "--set": SETTINGS, "--env": ENVS, "--plugin": ["x.py"], "--evaluate-every": NUMBERS}
RUN |= {"--checkpoint-every": NUMBERS, "--out": ["new", "runs/grid", "new/deep/er"]}
SEEDS = ["0", "0-3", "3-0", "0-20000", f"0-{DIGITS}", DIGITS, "1.5"]
CONTEXTS = ["1", "inf", "0", "1000001", DIGITS, "1.5"]
COMMANDS: dict[str, tuple[list[str], dict[str, list[str]]]] = {
    "train": (
        TASKS,
        RUN
        | {"--bonus": BONUSES, "--algorithm": ["impala", "ddppo", "ppo"], "--preset": ["laptop", "paper", "zzz"]}
        | {"--contexts": CONTEXTS, "--seed": SEEDS, "--resources": ["laptop", "zzz"], "--resume": RUNS, "--serial": []},
    ),
    "grid": (
        [],
        RUN
        | {"--scale": ["smoke", "laptop", "zzz"], "--tasks": TASKS, "--suite": ["zzz"], "--bonuses": BONUSES}
        | {"--seeds": SEEDS, "--contexts": CONTEXTS, "--plan": [], "--address": ADDRESSES, "--tracking-uri": URIS}
        | {"--cpus-per-trial": NUMBERS, "--gpus-per-trial": ["0.5", "-1", "nan"], "--concurrent": NUMBERS}
        | {"--max-retries": NUMBERS, "--storage": ["zz://x", "/proc/x", "new"], "--fresh": [], "--accept-changes": []},
    ),
    "search": (
        [],
        RUN
        | {"--task": TASKS, "--bonus": BONUSES, "--contexts": CONTEXTS, "--samples": NUMBERS, "--search-seeds": SEEDS}
        | {"--study-seeds": SEEDS, "--normalise": ["std", "zzz"], "--coefficient": ["0.1", "1", "-1", "nan", "inf"]}
        | {"--scheduler": ["asha", "zzz"], "--searcher": ["even", "zzz"], "--grace": ["0.5", "-1", "nan", "2"]}
        | {"--metric": ["win_rate", "zzz"], "--plan": [], "--concurrent": NUMBERS, "--tracking-uri": URIS},
    ),
    "play": (
        TASKS,
        {"--context": NUMBERS, "--contexts": CONTEXTS, "--seed": SEEDS, "--agent": ["random", "scripted", "zzz"]}
        | {"--steps": NUMBERS, "--delay": ["0", "nan", "-1"], "--save": ["x.mp4", "x.gif", "x.zzz", "no/x.png"]},
    ),
    "advise": (
        TASKS,
        {"--contexts": CONTEXTS, "--features": ["position", "position,zzz", ","], "--results": RUNS}
        | {"--seed": SEEDS, "--json": []},
    ),
    "zoo": (["add", "zzz"], {"--episodes": NUMBERS, "--json": []}),
    "tasks": ([], {}),
    "bonuses": (BONUSES, {}),
    "presets": (["laptop", "paper"], {"--algorithm": ["ddppo"]}),
    "report": (RUNS, {}),
    "track": (RUNS, {"--tracking-uri": URIS}),
    "ui": (RUNS, {"--tracking-uri": URIS, "--port": NUMBERS, "--host": ["127.0.0.1"]}),
    "board": (RUNS, {"--port": ["0", *NUMBERS], "--host": ["127.0.0.1", "x y"], "--mlflow-url": URIS, "--no-open": []}),
    "watch": (RUNS, {"--seed": SEEDS}),
    "evaluate": (RUNS, {"--episodes": NUMBERS}),
    "--help": ([], {}),
    "trian": (TASKS, {}),
}


class Accepted(BaseException):
    """A command line that starts what this test does not."""


def command_line(rng: random.Random) -> list[str]:
    """A command with some of its options, most of them with values that belong there."""
    name = rng.choice([*COMMANDS, "train", "train", "grid", "grid"])
    places, options = COMMANDS[name]
    words = [name]
    if places and rng.random() < 0.9:
        words.append(value(rng, places))
    for option in rng.sample(list(options), min(len(options), rng.randrange(4))):
        words.append(option if rng.random() < 0.95 else option[:-1])
        if options[option]:
            words += [value(rng, options[option]) for _ in range(rng.choice([1, 1, 1, 0, 2]))]
    if rng.random() < 0.05:
        words.insert(rng.randrange(len(words) + 1), rng.choice(STRANGE))
    return words


def value(rng: random.Random, usual: list[str]) -> str:
    return rng.choice(usual if rng.random() < 0.7 else STRANGE)


look_up = socket.getaddrinfo


def numeric_only(host: Any, *rest: Any, **named: Any) -> Any:
    """Without asking name servers, which takes seconds where there are none."""
    if str(host) not in ("127.0.0.1", "localhost"):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    return look_up(host, *rest, **named)


@pytest.fixture
def nothing_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, write_sample_grid: Callable[..., GridFolder]
) -> list[str]:
    """What was about to start. Training, reports and servers end with `Accepted`."""
    started: list[str] = []

    def stop(what: str) -> Callable[..., Any]:
        def start(*_: Any, **__: Any) -> Any:
            started.append(what)
            raise Accepted(what)

        return start

    monkeypatch.setattr("os.nice", lambda _: 0)  # a board's low priority would stay with all later tests
    monkeypatch.setattr(ray, "init", stop("ray"))
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr("bonuslab.platform.grid.cluster.services.find_bootstrap_address", lambda _: None)
    places = ("report.write.write_report", "board.server.server_of", "grid.single.SingleRun._train")
    for place in (*places, "cli.play_episode.episode"):
        monkeypatch.setattr(f"bonuslab.platform.{place}", stop(place))
    monkeypatch.setattr("bonuslab.experiments.value_functions.advice.Estimates", stop("sampling"))
    for place in ("cli.ui.sync", "cli.track.sync"):  # `ui` imports what is in `track`: its own first
        monkeypatch.setattr(f"bonuslab.platform.{place}", lambda *_: None)
    monkeypatch.setattr(socket, "getaddrinfo", numeric_only)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.chdir(tmp_path)
    write_sample_grid(tmp_path / "runs" / "grid", tasks=["KeyRoom-S5"], seeds=[0], rows=2)
    return started


def refused_or_run(words: list[str], started: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    started.clear()
    try:
        status = main(words)
    except SystemExit as ended:  # --help of argparse
        status = ended.code
    except Accepted as accepted:
        status = f"accepted: {accepted}"
    except BaseException as error:
        pytest.fail(f"{words!r:.300}: {type(error).__name__}: {str(error)[:200]}")
    told = capsys.readouterr().err
    assert "Traceback" not in told, words
    if status == 2:
        assert "ray" not in started, f"{words!r:.300} was refused after Ray had started"
        assert told.startswith("bonuslab: "), f"{words!r:.300}: {told[:200]}"
        assert len(told) < 3_000
    else:
        assert status == 0 or str(status).startswith("accepted"), f"{words!r:.300}: {status}"
    return str(status)


@pytest.mark.parametrize(
    ("seed", "count"), [(0, 100), *(pytest.param(seed, 200, marks=pytest.mark.slow) for seed in range(1, 11))]
)
def test_random_command_lines(
    seed: int, count: int, nothing_starts: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(seed)
    statuses = [refused_or_run(command_line(rng), nothing_starts, capsys) for _ in range(count)]
    assert statuses.count("2") > count / 4
    assert any(status.startswith("accepted") for status in statuses)


@pytest.mark.parametrize("setting", ["evaluation_episodes=0", f"unroll_length={2**32}", "bonus_network=zzz"])
@pytest.mark.parametrize("command", [["train", "MultiRoom-N2-S4"], ["grid", "--scale", "smoke"]])
def test_settings_are_refused_before_ray_starts(
    command: list[str], setting: str, nothing_starts: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused_or_run([*command, "--set", setting], nothing_starts, capsys) == "2"
    assert nothing_starts == []


@pytest.mark.parametrize(
    "words",
    [["grid", "--seeds", DIGITS], ["grid", "--contexts", DIGITS], ["train", "KeyRoom-S5", "--contexts", DIGITS]],
)
def test_numbers_of_5000_digits_are_refused(
    words: list[str], nothing_starts: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused_or_run(words, nothing_starts, capsys) == "2"


@pytest.mark.parametrize(
    "words", [["report", "~nobody-here"], ["watch", "~nobody-here/x"], ["grid", "--plugin", "~nobody-here/x.py"]]
)
def test_a_home_that_does_not_exist_is_a_name(
    words: list[str], nothing_starts: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused_or_run(words, nothing_starts, capsys) == "2"
