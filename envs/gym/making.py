"""From the name of a Gymnasium environment to the environment itself."""

from __future__ import annotations

import inspect
import os
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

import gymnasium as gym

from bonuslab.envs.errors import InvalidInput, check_flag, check_integer, unknown
from bonuslab.envs.extras import missing
from bonuslab.envs.gym.registry import USER_ENVIRONMENTS

OWN_SETTINGS = ("max_episode_steps", "won", "stagger")
"""Settings that are ours; all others are keyword arguments of the environment."""
_QUIET_PYGAME = {"SDL_AUDIODRIVER": "dummy", "SDL_VIDEODRIVER": "dummy", "PYGAME_HIDE_SUPPORT_PROMPT": "1"}
"""Environment variables of pygame, which draws CartPole: without them it complains of missing sound and screens."""
gym.register(
    "StatelessCartPole-v1",
    entry_point="bonuslab.envs.gym.stateless_cartpole:StatelessCartPole",
    max_episode_steps=500,  # as CartPole-v1
)
_RLLIB_PARAMETERS = (("config",), ("env_config",), ("env_context",))
"""Parameters of a class or function that, as RLlib's do, takes all settings in one dictionary."""
_PACKAGES = {"minigrid-": "minigrid", "babyai-": "minigrid"}
"""Packages that register ids when they are imported, by how those ids begin."""


@dataclass(frozen=True)
class Maker:
    """How an environment is made."""

    name: str
    """Canonical; finds the same maker in every process that has the same code."""
    build: Callable[..., gym.Env[Any, Any]]
    """Takes `max_episode_steps` (None: as it is) and the environment's keyword arguments."""
    target: Callable[..., Any] | None = None
    """The class or function that receives the keyword arguments, where it is known."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    any_setting: bool = False
    """Whether settings reach the environment in one dictionary, which may have any."""

    def won(self, settings: Mapping[str, Any]) -> Any:
        """The setting `won`; see `bonuslab.envs.gym.episode.WON`."""
        return {"won": "auto", **self.defaults, **settings}["won"]

    def stagger(self, settings: Mapping[str, Any]) -> bool | None:
        """The setting `stagger`; None where it is not given."""
        given = {**self.defaults, **settings}.get("stagger")
        return None if given is None else check_flag("stagger", given)

    def make_drawing(self, settings: Mapping[str, Any]) -> gym.Env[Any, Any]:
        """An environment that draws RGB pictures, if it can."""
        modes = getattr(self.target, "metadata", {}).get("render_modes", ["rgb_array"])
        if "rgb_array" in modes and "render_mode" not in settings:
            for variable, value in _QUIET_PYGAME.items():
                os.environ.setdefault(variable, value)
            try:
                return self.make({**settings, "render_mode": "rgb_array"})
            except InvalidInput:
                pass  # most likely it does not know the setting; any other reason is found again
        return self.make(settings)

    def make(self, settings: Mapping[str, Any]) -> gym.Env[Any, Any]:
        """An environment."""
        chosen = {**self.defaults, **settings}
        for name in ("won", "stagger"):
            chosen.pop(name, None)
        limit = chosen.pop("max_episode_steps", None)
        if limit is not None:
            check_integer("max_episode_steps", limit, 1)
        self._refuse_unknown(chosen)
        try:
            env = self.build(limit, **chosen)
        except (TypeError, ImportError, gym.error.Error) as error:
            given = ", ".join(f"{name}={value!r}" for name, value in chosen.items())
            raise InvalidInput(f"{self.name} cannot be made with ({given}): {type(error).__name__}: {error}") from error
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            raise InvalidInput(
                f"{self.name} raised {type(error).__name__} when it was made: {error} ({place.filename}:{place.lineno})"
            ) from error
        if isinstance(env, gym.vector.VectorEnv):
            raise InvalidInput(
                f"{self.name} made a {type(env).__name__}; make one environment, and bonuslab steps many together: "
                "those of a vector env cannot each be reset with its own seed"
            )
        if not isinstance(env, gym.Env):
            raise InvalidInput(f"{self.name} made a {type(env).__name__}, which is no gymnasium.Env")
        for space in ("observation_space", "action_space"):
            if not isinstance(getattr(env, space, None), gym.Space):
                raise InvalidInput(f"{self.name} has no {space}; set it to a space of gymnasium.spaces")
        return env

    def _refuse_unknown(self, settings: Mapping[str, Any]) -> None:
        parameters = _parameters(self.target)
        if self.any_setting or any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
            return
        for name in settings:
            if self.target is not None and name not in parameters:
                raise unknown("environment setting", name, [*parameters, *OWN_SETTINGS])


def find_maker(name: str) -> Maker | None:
    """The environment called `name`: the user's, Gymnasium's, `module:attribute`, or RLlib's."""
    for find in (find_registered, find_gymnasium, _find_imported, find_rllib):
        maker = find(name)
        if maker is not None:
            return maker
    return None


def find_registered(name: str) -> Maker | None:
    """An environment of `register_environment`."""
    if name not in USER_ENVIRONMENTS:
        return None
    known = USER_ENVIRONMENTS[name]
    return _users_maker(name, known.make, known.settings)


def find_gymnasium(name: str) -> Maker | None:
    """A Gymnasium id; capitals do not matter, and the newest version is meant where none is given."""
    text = name.lower()
    package = next((package for start, package in _PACKAGES.items() if text.startswith(start)), None)
    if package is not None:
        try:
            import_module(package)
        except ModuleNotFoundError as error:
            raise InvalidInput(missing(repr(name), error)) from error
    found = [known for known in gym.registry if known.lower() == text]
    versions = [known for known in gym.registry if re.sub(r"-v\d+$", "", known).lower() == text]
    if not found and not versions:
        return None
    known = found[0] if found else max(versions, key=lambda known: gym.registry[known].version or 0)
    return _gymnasium_maker(known, known)


def known_names() -> list[str]:
    """Names that can be listed: the user's and Gymnasium's, with those of MiniGrid if it is installed."""
    with suppress(ModuleNotFoundError):
        import_module("minigrid")
    return [*USER_ENVIRONMENTS, *gym.registry]


def _find_imported(name: str) -> Maker | None:
    """`package.module:make_env`, or Gymnasium's `package.module:Id-v0`, whose module registers the id."""
    module_name, colon, attribute = name.partition(":")
    if not colon or not all(part.isidentifier() for part in module_name.split(".")):
        return None
    target: Any = _import(name, module_name)
    if attribute in gym.registry:
        return _gymnasium_maker(name, attribute)
    for part in attribute.split("."):
        target = getattr(target, part, None)
    if not callable(target):
        raise unknown("environment", name, [f"{module_name}:{each}" for each in _public(sys.modules[module_name])])
    return _users_maker(name, target, {})


def find_rllib(name: str) -> Maker | None:
    """A name of `ray.tune.register_env`, whose creator takes one dictionary."""
    if "ray.tune" not in sys.modules:  # nobody can have registered anything
        return None
    from ray.tune.registry import ENV_CREATOR, _global_registry

    if not _global_registry.contains(ENV_CREATOR, name):
        return None
    return Maker(name, partial(_build, partial(_make_from_dictionary, _global_registry.get(ENV_CREATOR, name))))


def _users_maker(name: str, target: Callable[..., Any], defaults: Mapping[str, Any]) -> Maker:
    if tuple(_parameters(target)) in _RLLIB_PARAMETERS:
        return Maker(name, partial(_build, partial(_make_from_dictionary, target)), target, defaults, any_setting=True)
    return Maker(name, partial(_build, target), target, defaults)


def _make_from_dictionary(creator: Callable[..., gym.Env[Any, Any]], **settings: Any) -> gym.Env[Any, Any]:
    if "ray.rllib" not in sys.modules:
        return creator(settings)
    from ray.rllib.env.env_context import EnvContext

    return creator(EnvContext(settings, worker_index=0))


def _parameters(target: Callable[..., Any] | None) -> Mapping[str, inspect.Parameter]:
    try:
        return {} if target is None else inspect.signature(target).parameters
    except (TypeError, ValueError):
        return {}


def _gymnasium_maker(name: str, known: str) -> Maker:
    spec = gym.registry[known]
    entry = spec.entry_point
    try:
        target = gym.envs.registration.load_env_creator(entry) if isinstance(entry, str) else entry
    except (ImportError, AttributeError, gym.error.Error) as error:
        raise InvalidInput(f"{name!r} cannot be imported: {type(error).__name__}: {error}") from error
    return Maker(name, partial(_build_gymnasium, known), target)


def _build(make: Callable[..., gym.Env[Any, Any]], limit: int | None, **settings: Any) -> gym.Env[Any, Any]:
    env = make(**settings)
    return env if limit is None else gym.wrappers.TimeLimit(env, limit)


def _build_gymnasium(known: str, limit: int | None, **settings: Any) -> gym.Env[Any, Any]:
    # Gymnasium's own checker only warns, and costs time in every step; `observations.py` refuses.
    return gym.make(known, max_episode_steps=limit, disable_env_checker=True, **settings)


def _import(name: str, module_name: str) -> ModuleType:
    """The module; one in the current directory is found too, as it is when Python runs a script there."""
    here = os.getcwd()
    if not {here, ""} & set(sys.path):
        sys.path.append(here)
    try:
        return import_module(module_name)
    except Exception as error:
        raise InvalidInput(f"environment {name!r}: importing {module_name} raised {error!r}") from error


def _public(module: ModuleType) -> list[str]:
    return [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
