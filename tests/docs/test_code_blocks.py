"""Code in the documentation: Python blocks run in order with few steps, real parsers read the command lines."""

from __future__ import annotations

import importlib.util
import re
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path

import matplotlib as mpl
import pytest

from bonuslab.algorithms.bonuses import parse
from bonuslab.envs import catalogue
from bonuslab.platform.cli.main import GROUP, _Parser, main
from bonuslab.platform.cli.train import _OWN
from bonuslab.platform.grid.arguments import chosen_settings
from bonuslab.platform.grid.single import SingleRun, default_path
from bonuslab.platform.run.config import Config

ROOT = Path(__file__).parents[2]
FOLDERS = ("algorithms/bonuses", "deploy", "deploy/monitoring", "envs/habitat", "experiments/results")
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", *(f"{folder}/README.md" for folder in FOLDERS))),
    *sorted((ROOT / "docs").rglob("*.md")),
]
_PROGRAMS = "$EDITOR aws bash cat curl docker grafana helm kubectl pip prometheus ray source tensorboard"
OTHERS = set(_PROGRAMS.split())
"""Programs whose arguments are not parsed; files of the repository among them must exist."""
ONLY_PRINT = ("bonuses", "presets", "tasks", "zoo")
"""Commands that are run as they are written."""
SMALL = "num_envs_per_env_runner=4, rollout_fragment_length=8, num_minibatches=1, num_epochs=1, evaluate_every_steps=0"
_BLOCK = re.compile(r"(?:<!-- (not run|slow): [^>]+ -->\n)?^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


@dataclass(frozen=True)
class Block:
    """A block of code."""

    how: str
    """`not run`, `slow`, or nothing."""
    language: str
    code: str
    line: int


def blocks(text: str) -> list[Block]:
    found = _BLOCK.finditer(text)
    return [Block(match[1] or "", match[2], match[3], text[: match.start()].count("\n") + 1) for match in found]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def smaller(code: str) -> str:
    """The same with few steps and episodes, and short ones in MiniHack."""
    task = r'((?:train|grid)\(\[?"MultiRoom.*?)'
    code = re.sub(rf"{task}\bsteps=[\d_]+", rf'\1steps=64, env={{"max_steps": 2}}, {SMALL}', code)
    return re.sub(r"episodes=\d+", "episodes=2", re.sub(r"\bsteps=\d*_[\d_]+", f"steps=64, {SMALL}", code))


def run(page: Path, hows: tuple[str, ...]) -> None:
    space: dict[str, object] = {"__name__": "documentation"}
    for block in blocks(page.read_text()):
        if block.language == "python":
            program = compile(smaller(block.code), f"{name(page)}:{block.line}", "exec", dont_inherit=True)
            if block.how in hows:
                exec(program, space)


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(SingleRun, "_take_pictures", lambda *_: None)  # slow, and tested elsewhere
    mpl.use("agg")


def pages_with(how: str) -> list[Path]:
    """All but one, whose blocks tests/platform/cli/test_bonuses.py runs."""
    pages = [page for page in PAGES if name(page) != "algorithms/bonuses/README.md"]
    return [page for page in pages if any(b.language == "python" and b.how == how for b in blocks(page.read_text()))]


@pytest.mark.usefixtures("fresh_registries")
@pytest.mark.parametrize("page", pages_with(""), ids=name)
def test_python_blocks_run(page: Path) -> None:
    run(page, ("",))


@pytest.mark.slow
@pytest.mark.cluster
@pytest.mark.usefixtures("fresh_registries")
@pytest.mark.parametrize("page", pages_with("slow"), ids=name)
def test_slow_python_blocks_run(page: Path) -> None:
    run(page, ("", "slow"))


def command_lines(text: str) -> Iterator[list[str]]:
    """The words of every command; of a pipe, of its first."""
    for block in blocks(text):
        for line in block.code.replace("\\\n", " ").splitlines():
            if block.language == "bash" or line.startswith("bonuslab "):
                for words in split(shlex.split(line, comments=True), "&&", ";"):
                    yield next(split(words, "|"))


def split(words: list[str], *separators: str) -> Iterator[list[str]]:
    """The parts between separators, which may end a word."""
    part: list[str] = []
    for word in words:
        bare = word.rstrip(";") if ";" in separators else word
        part += [bare] if bare and bare not in separators else []
        if part and (bare in separators or bare != word):
            yield part
            part = []
    if part:
        yield part


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_command_lines_are_valid(page: Path) -> None:
    trained: set[str] = set()
    for words in command_lines(page.read_text()):
        check(words, trained)
        if words[:1] == ["bonuslab"] and words[1] in ONLY_PRINT and "--plugin" not in words:
            assert main(words[1:]) == 0


@pytest.mark.usefixtures("fresh_registries")
def test_command_lines_of_generated_pages_are_valid() -> None:
    tables, bonuses = (hook(module) for module in ("table_pages", "bonus_pages"))
    texts = [*(table() for table in tables.TABLES.values()), *map(bonuses.details, bonuses.registered().values())]
    found = [words for text in texts for words in command_lines(text)]
    assert len(found) > 30
    for words in found:
        check(words, set())


def hook(module: str) -> object:
    spec = importlib.util.spec_from_file_location(module, ROOT / "docs" / "hooks" / f"{module}.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def check(words: list[str], trained: set[str]) -> None:
    """A command; `trained` are the names of the runs that the page has made so far."""
    program, *rest = [word for word in words if not re.match(r"[A-Z_]+=", word)]  # variables for the program
    if program == "bonuslab":
        check_bonuslab(trained, *rest)
    elif program == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert {word for word in rest if "=" not in word} <= set(targets), words
    elif program == "python":
        check_script(rest)
    else:
        assert program in OTHERS, words
        for word in rest:
            if re.match(r"(deploy|experiments|docs)/", word):
                assert (ROOT / word).exists(), words
            if extras := re.search(r"\[([\w,]+)\]", word):
                assert set(extras[1].split(",")) <= set(_EXTRAS), words


def parser_of(command: str) -> _Parser:
    entry = {entry.name: entry for entry in entry_points(group=GROUP)}[command]
    parser = _Parser(prog=command)
    entry.load()().add_arguments(parser)
    return parser


def check_bonuslab(trained: set[str], command: str, *rest: str) -> None:
    assert {word for word in rest if "_contexts-" in word} <= trained, "no command of the page makes this run"
    given = parser_of(command).parse_args([word for word in rest if word != "…"])  # `InvalidInput` fails the test
    if not getattr(given, "plugin", None):
        for text in [getattr(given, "bonus", None), getattr(given, "expression", None)]:
            for expression in [text] if isinstance(text, str) else text or []:
                parse(expression)
    if command in ("train", "play", "advise", "doctor"):
        for task in [given.task] if isinstance(given.task, str) else given.task or []:
            catalogue.canonical_name(task)
    if command == "train" and not {"plugin", "resume"} & set(vars(given)):
        own = {name: value for name, value in vars(given).items() if name in _OWN and name != "resources"}
        with catalogue.collecting_missing():  # HM3D's data
            config = Config.of(given.task, **own, **chosen_settings(vars(given), own.get("algorithm", "impala")))
        trained.add(default_path(config).name)


def check_script(rest: list[str]) -> None:
    if rest[0] == "-m":
        assert importlib.util.find_spec(rest[1]), rest
        return
    script, *words = rest
    assert (ROOT / script).is_file() or script == "doors.py", rest
    known = {option for action in parser_of("grid")._actions for option in action.option_strings}
    text = (ROOT / script).read_text()
    for word in words:
        if word.startswith("--"):
            assert word in known or word in text or word[2:].replace("-", "_") in text, rest
