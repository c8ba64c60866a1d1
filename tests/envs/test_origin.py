"""Who owns a name."""

from __future__ import annotations

import dataclasses
from functools import partial, wraps
from pathlib import Path
from types import ModuleType

import pytest

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.origin import Origin, check_owner, origin_of

HERE = str(Path(__file__).resolve())


def function() -> None: ...


@dataclasses.dataclass
class Class:
    size: int = 1

    def __call__(self) -> None: ...


def test_the_origin_of_every_kind_of_callable() -> None:
    wrapped = wraps(function)(lambda: None)
    for definition in (function, partial(function), partial(partial(function)), wrapped):
        assert origin_of(definition) == Origin(__name__, "function", HERE, function.__code__.co_firstlineno)
    for definition in (Class, Class(), partial(Class, 2)):
        found = origin_of(definition)  # not that of the methods which `dataclass` wrote
        assert (found.qualname, found.place) == ("Class", f"{HERE}:{Class.__call__.__code__.co_firstlineno}")
    assert origin_of(Class().__call__).qualname == "Class.__call__"
    assert origin_of(dict) == Origin("builtins", "dict")
    assert origin_of(check_owner).built_in
    assert not origin_of(function).built_in


def load(name: str, file: Path) -> ModuleType:
    module = ModuleType(name)
    exec(compile(file.read_text(), str(file), "exec"), module.__dict__)
    return module


def test_a_definition_may_replace_itself_only(tmp_path: Path) -> None:
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    for file in (one, two):
        file.write_text("def f(): ...\ndef g(): ...\n")
    script, imported, other = load("__main__", one), load("one", one), load("two", two)
    check_owner("bonus", "f", None, script.f)
    check_owner("bonus", "f", script.f, load("__main__", one).f)
    check_owner("bonus", "f", script.f, imported.f)  # the script, imported by another one
    check_owner("bonus", "f", script.f, load("__main__", two).f)  # a notebook's cells are different files
    for taken in (imported.g, other.f):
        with pytest.raises(InvalidInput, match=r"'f' is taken by __main__\.f \(.*one\.py:1\); choose another"):
            check_owner("bonus", "f", script.f, taken)


def test_code_without_a_file_has_no_place_but_its_name() -> None:
    first, second = ModuleType("first"), ModuleType("second")
    for module in (first, second):
        exec("def f(): ...", module.__dict__)
    assert origin_of(first.f).place == "first.f"
    with pytest.raises(InvalidInput, match=r"taken by first\.f; choose"):
        check_owner("bonus", "f", first.f, second.f)
