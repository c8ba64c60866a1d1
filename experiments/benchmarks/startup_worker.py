"""`bonuslab train` until its first update, for `startup.py`; runs with the code of any revision."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

LEARNER = "ray.rllib.core.learner.learner"


class _StopAfterFirstUpdate(MetaPathFinder):
    """Changes RLlib's learner when it is imported: importing it here first would hide what the command imports."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != LEARNER:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.loader is not None
        execute = spec.loader.exec_module

        def execute_and_change(module: ModuleType) -> None:
            execute(module)
            module.Learner.after_gradient_based_update = _finish

        spec.loader.exec_module = execute_and_change  # type: ignore[method-assign]
        return spec


def _finish(*_: Any, **__: Any) -> None:
    """Wait for the question, so that the CPU time of all processes can be read now; then stop."""
    print("updated", flush=True)
    sys.stdin.readline()
    import ray

    ray.shutdown()
    os._exit(0)


def main() -> int:
    """Run the command whose words are given."""
    sys.meta_path.insert(0, _StopAfterFirstUpdate())
    from bonuslab.platform.cli.main import main as command

    return command(json.loads(sys.argv[1])["words"])


if __name__ == "__main__":
    sys.exit(main())
