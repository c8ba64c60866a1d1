"""Bonuses from a user's own file: `--plugin my_bonus.py`."""

from __future__ import annotations

import importlib.util
import re
import sys
import traceback
import zlib
from pathlib import Path

from bonuslab.algorithms.bonuses.algebra.presets import PRESETS
from bonuslab.algorithms.bonuses.algebra.registry import registered
from bonuslab.envs.errors import InvalidInput


def load_plugin(path: str | Path) -> list[str]:
    """Import the file, once, and return the names of the bonuses it registers.

    The module's name depends on the file's place alone, so a bonus pickled here can be unpickled in any process that
    has loaded the same file.
    """
    file = Path(path).expanduser().resolve()
    if not file.is_file():
        raise InvalidInput(f"plugin {str(path)!r} is not a file")
    if file.suffix != ".py":
        raise InvalidInput(f"plugin {str(path)!r} is not a Python file (.py)")
    module_name = _module_name(file)
    if module_name not in sys.modules:
        _import(module_name, file)
    names = [name for name, bonus in registered().items() if bonus.__module__ == module_name]
    if not names:
        raise InvalidInput(f'plugin {file} registers no bonus; decorate its class with @register("name")')
    taken = [name for name in names if name in PRESETS]
    if taken:
        raise InvalidInput(f"plugin {file}: {', '.join(taken)} is the name of a preset; choose another")
    return names


def _module_name(file: Path) -> str:
    stem = re.sub(r"\W", "_", file.stem)
    return f"bonuslab_plugin_{stem}_{zlib.crc32(str(file).encode()):08x}"


def _import(module_name: str, file: Path) -> None:
    spec = importlib.util.spec_from_file_location(module_name, file)
    if spec is None or spec.loader is None:
        raise InvalidInput(f"plugin {file} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[module_name]
        raise InvalidInput(f"plugin {file}{_line(error, file)}: {type(error).__name__}: {error}") from error


def _line(error: BaseException, file: Path) -> str:
    """`:12`, the last line of the plugin itself that took part in the error."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    return f":{lines[-1]}" if lines else ""
