"""Imports RLlib without packages that training never uses, which cost 0.8 s of CPU time."""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

PACKAGES = (
    "jsonschema",
    "pandas",
    "ray.data",
    "ray.train.v2._internal.execution",
    "ray.train.v2.api",
    "ray.tune.experimental",
    "requests",
    "smart_open",
)


@contextmanager
def deferred(packages: Sequence[str] = PACKAGES) -> Iterator[None]:
    """Within this context, imports of these packages give stand-ins, which import them on first use.

    RLlib mentions them in annotations, which is no use. Afterwards imports give the packages themselves.
    """
    finder = _Finder([name for name in packages if name not in sys.modules])
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        finder.remove()


class _Finder(MetaPathFinder, Loader):
    """Finds the modules of some packages, but loads stand-ins."""

    def __init__(self, packages: Sequence[str]) -> None:
        self._packages = packages

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if not any(f"{name}.".startswith(f"{package}.") for package in self._packages):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None:
            spec.loader = self
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _StandIn(spec.name, self)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is executed."""

    def remove(self) -> None:
        """Let imports find the packages themselves."""
        with suppress(ValueError):  # removed already, by the first use of a stand-in
            sys.meta_path.remove(self)
        for name in [name for name, module in sys.modules.items() if isinstance(module, _StandIn)]:
            del sys.modules[name]


class _StandIn(ModuleType):
    """Stands in for a module, or for something in it."""

    def __init__(self, name: str, finder: _Finder) -> None:
        super().__init__(name)
        self.__finder = finder

    def __real(self) -> Any:
        self.__finder.remove()
        return pkgutil.resolve_name(self.__name__)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        if self.__finder in sys.meta_path:
            return _StandIn(f"{self.__name__}.{name}", self.__finder)
        return getattr(self.__real(), name)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self.__real()(*arguments, **options)

    def __getitem__(self, key: Any) -> Any:
        return self.__real()[key]

    def __or__(self, other: Any) -> Any:
        return self.__real() | other

    def __reduce__(self) -> tuple[Any, ...]:
        return pkgutil.resolve_name, (self.__name__,)  # copies and pickles are of what it stands for

    def __mro_entries__(self, _bases: tuple[Any, ...]) -> tuple[Any, ...]:
        return (self.__real(),)

    def __instancecheck__(self, instance: Any) -> bool:
        package = self.__name__.partition(".")[0]
        return package in sys.modules and isinstance(instance, self.__real())
