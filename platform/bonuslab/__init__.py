"""Exploration bonuses in contextual MDPs: `import bonuslab as bl`.

    run = bl.train("MultiRoom-N4-S5", bonus=bl.E3B() * bl.RND(), steps=100_000, serial=True)
    run.evaluate(episodes=32)
    run.video("episode.mp4")
    bl.plot([run], "win_rate").savefig("curves.png")

Names are imported when they are first used, so that `import bonuslab` is instant.
"""

from __future__ import annotations

import logging
from importlib import import_module
from importlib.metadata import version as _version
from pathlib import Path
from typing import TYPE_CHECKING, Any

__version__ = _version("bonuslab")
_ROOT = Path(__file__).resolve().parents[2]
if (_ROOT / "pyproject.toml").is_file():
    # An editable install: the sub-packages are folders at the root of the source tree.
    __path__.append(str(_ROOT))

if TYPE_CHECKING:
    from bonuslab.algorithms.bonuses import Bonus, parse
    from bonuslab.algorithms.bonuses.adaptive import Adaptive
    from bonuslab.algorithms.bonuses.agac import AGAC
    from bonuslab.algorithms.bonuses.counts import EpisodicCount, GlobalCount
    from bonuslab.algorithms.bonuses.e3b import E3B
    from bonuslab.algorithms.bonuses.elliptical_global import EllipticalGlobal
    from bonuslab.algorithms.bonuses.icm import ICM
    from bonuslab.algorithms.bonuses.ngu import NGU
    from bonuslab.algorithms.bonuses.noveld import NovelD
    from bonuslab.algorithms.bonuses.null import NoBonus
    from bonuslab.algorithms.bonuses.reward.explorer import Explorer
    from bonuslab.algorithms.bonuses.ride import RIDE
    from bonuslab.algorithms.bonuses.rnd import RND
    from bonuslab.algorithms.ddppo.config import DDPPOConfig
    from bonuslab.algorithms.extensions import Step, bonus, feature, network
    from bonuslab.algorithms.impala.config import IMPALAConfig
    from bonuslab.envs.catalogue import register_environment
    from bonuslab.envs.errors import InvalidInput
    from bonuslab.platform.api.handles import Grid, Policy, Run, load
    from bonuslab.platform.api.plotting import plot
    from bonuslab.platform.api.searching import SearchResult, search
    from bonuslab.platform.api.training import grid, resume, train
    from bonuslab.platform.run.config import Config

_HOMES = {
    "algorithms.bonuses": ("Bonus", "parse"),
    "algorithms.bonuses.adaptive": ("Adaptive",),
    "algorithms.bonuses.agac": ("AGAC",),
    "algorithms.bonuses.counts": ("EpisodicCount", "GlobalCount"),
    "algorithms.bonuses.e3b": ("E3B",),
    "algorithms.bonuses.elliptical_global": ("EllipticalGlobal",),
    "algorithms.bonuses.icm": ("ICM",),
    "algorithms.bonuses.ngu": ("NGU",),
    "algorithms.bonuses.noveld": ("NovelD",),
    "algorithms.bonuses.null": ("NoBonus",),
    "algorithms.bonuses.reward.explorer": ("Explorer",),
    "algorithms.bonuses.ride": ("RIDE",),
    "algorithms.bonuses.rnd": ("RND",),
    "algorithms.ddppo.config": ("DDPPOConfig",),
    "algorithms.extensions": ("Step", "bonus", "feature", "network"),
    "algorithms.impala.config": ("IMPALAConfig",),
    "envs.catalogue": ("register_environment",),
    "envs.errors": ("InvalidInput",),
    "platform.api.handles": ("Grid", "Policy", "Run", "load"),
    "platform.api.plotting": ("plot",),
    "platform.api.searching": ("SearchResult", "search"),
    "platform.api.training": ("grid", "resume", "train"),
    "platform.run.config": ("Config",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}
__all__ = ["__version__", *sorted(_HOME_OF)]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'bonuslab' has no attribute {name!r}")
    from bonuslab.envs.extras import required_by

    logging.getLogger("ray.widgets.util").setLevel(logging.ERROR)  # in notebooks it recommends ipywidgets
    with required_by(f"bonuslab.{name}"):
        value = getattr(import_module(f"bonuslab.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
