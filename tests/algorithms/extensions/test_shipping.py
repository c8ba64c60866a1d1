"""What users register reaches other processes."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from types import FunctionType

import pytest

from bonuslab.algorithms.bonuses import parse, registered
from bonuslab.algorithms.bonuses.features.state_features import check_feature
from bonuslab.algorithms.extensions import bonus, capture, digest, feature, install, load_plugin, shipping
from bonuslab.algorithms.extensions.kinds import restore, user_entries
from bonuslab.envs.errors import InvalidInput

NAMES = ["Corridor", "corner", "speed", "visits", "wide"]
SCRIPT = Path(__file__).parent / "user_script.py"


def define(value: float = 1.0) -> None:
    @bonus("constant", scope="global")
    def constant(step):
        return step.reward * 0 + value


def value_of(name: str) -> float:
    """The number that `define` put into the bonus."""
    function: FunctionType = registered()[name].function  # type: ignore[attr-defined]
    return function.__closure__[0].cell_contents  # type: ignore[index]


def leave_process() -> None:
    """Forget everything, as if this were another process."""
    restore({})
    shipping._captured.clear()
    shipping._received.clear()
    shipping._latest = None


def test_nothing_to_ship() -> None:
    assert capture() is None
    install(None)
    assert user_entries() == {}


def test_capturing_twice_gives_the_same_bytes() -> None:
    define()
    feature("anything")(lambda observations: None)
    payload = capture()
    assert payload is not None
    parse("2 * constant + count.global(feature=anything)")
    assert digest(payload) == digest(capture())  # type: ignore[arg-type]
    define(2.0)
    assert digest(payload) != digest(capture())  # type: ignore[arg-type]


def test_installing_registers_once() -> None:
    define(3.0)
    payload = capture()
    leave_process()
    with pytest.raises(InvalidInput):
        parse("constant")
    install(payload)
    assert value_of("constant") == 3
    found = registered()["constant"]
    install(payload)
    assert registered()["constant"] is found
    assert capture() == payload  # what only passed through is passed on unchanged


def test_a_later_payload_replaces_an_earlier_one() -> None:
    payloads = []
    for value in (1.0, 2.0):
        define(value)
        payloads.append(capture())
    leave_process()
    for value, payload in [(1, payloads[0]), (2, payloads[1]), (1, payloads[0])]:
        install(payload)
        assert value_of("constant") == value


def test_a_definition_of_this_process_stays() -> None:
    define(1.0)
    payload = capture()
    leave_process()
    define(2.0)
    install(payload)
    assert value_of("constant") == 2
    leave_process()
    bonus("constant", scope="global")(lambda step: step.reward)
    with pytest.raises(InvalidInput, match=r"bonus 'constant' is defined in both .*test_shipping\.py:\d+ and .*rename"):
        install(payload)


def test_installing_does_not_touch_the_definitions_it_was_captured_from() -> None:
    define()
    before = user_entries()
    install(capture())
    assert user_entries() == before


def test_what_cannot_be_pickled_is_named() -> None:
    lock = threading.Lock()
    define()
    bonus("locked", scope="global")(lambda step: lock)
    with pytest.raises(InvalidInput, match=r"bonus 'locked' \(.*test_shipping\.py:\d+\) cannot be sent .*lock"):
        capture()


def test_a_missing_module_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_library.py").write_text("def twice(x): return 2 * x\n")
    with monkeypatch.context() as patch:
        patch.syspath_prepend(tmp_path)
        import my_library  # type: ignore[import-not-found]

        bonus("twice", scope="global")(lambda step: my_library.twice(step.reward))
        payload = capture()
    leave_process()
    del sys.modules["my_library"]
    with pytest.raises(InvalidInput, match=r"cannot load bonus 'twice' .*No module named 'my_library'"):
        install(payload)


def test_an_installed_package_travels_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "their_bonuses.py").write_text(
        "from bonuslab.algorithms.extensions import bonus\n"
        "HEAVY = [0] * 10**6\n"
        "def helper(step): return step.reward * len(HEAVY)\n"
        "@bonus('theirs', scope='global')\n"
        "def theirs(step): return helper(step)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "their_bonuses", raising=False)
    import their_bonuses  # type: ignore[import-not-found]  # noqa: F401

    local = capture()
    monkeypatch.setattr(shipping, "_INSTALLED", [tmp_path])
    installed = capture()
    assert local is not None
    assert installed is not None
    assert len(local) > 10**6 > 10**4 > len(installed)


@pytest.mark.cluster
def test_a_script_reaches_ray_workers() -> None:
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    local, remote = map(json.loads, done.stdout.splitlines())
    assert local == remote
    assert local["names"] == NAMES
    assert local["encoder"] == "Wide"
    assert local["total"] > 0
    assert local["error"].startswith("visits ")
    assert local["same"]


def test_a_plugin_reaches_a_process_without_the_file(tmp_path: Path) -> None:
    plugin = tmp_path / "mine.py"
    plugin.write_text(SCRIPT.read_text().partition("if __name__")[0])
    names = load_plugin(plugin)
    assert sorted(name for kind in names.values() for name in kind) == NAMES
    payload, here = capture(), parse("speed")
    plugin.unlink()
    (tmp_path / "payload").write_bytes(payload)  # type: ignore[arg-type]
    program = (
        "import pathlib, sys\n"
        "from bonuslab.algorithms import extensions\n"
        "from bonuslab.algorithms.bonuses import parse\n"
        "extensions.install(pathlib.Path(sys.argv[1]).read_bytes())\n"
        "print(parse('speed'), sorted(parse('speed').parameters().items()))"
    )
    arguments = [sys.executable, "-c", program, str(tmp_path / "payload")]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == f"speed {sorted(here.parameters().items())}", done.stderr
    check_feature("corner")
