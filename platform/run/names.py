"""Names and labels of trials: the same configuration has the same name in every grid."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from bonuslab.algorithms.bonuses import parse
from bonuslab.algorithms.extensions import plugin_ref
from bonuslab.envs.catalogue import canonical_name
from bonuslab.platform.run.config import Config
from bonuslab.platform.run.folder import PLUGINS, TrialDescription

LONGEST_SLUG = 60


def trial_id(config: Config, variant: str = "") -> str:
    """`<task>__<bonus>__c<contexts>__s<seed>[__variant]`, safe as a folder name."""
    parts = [slug(short_task(config.task)), slug(config.bonus), f"c{config.contexts}", f"s{config.seed}"]
    return "__".join([*parts, slug(variant)] if variant else parts)


def labels_of(config: Config, variant: str = "") -> dict[str, str]:
    """Labels to group and compare trials by."""
    return {
        "task": short_task(config.task),
        "contexts": config.contexts,
        "bonus": config.bonus,
        "scope": parse(config.bonus).scope,
        "seed": str(config.seed),
        "variant": variant,
    }


def short_task(task: str) -> str:
    """A task's name without MiniHack's prefix and version."""
    name = canonical_name(task)
    return name.removeprefix("MiniHack-").removesuffix("-v0") if name.startswith("MiniHack-") else name


def slug(text: str) -> str:
    """An expression as part of a file name: `e3b * rnd` becomes `e3b-x-rnd`."""
    words = text.replace("*", " x ").replace("+", " plus ")
    plain = re.sub(r"[^A-Za-z0-9.]+", "-", words).strip("-")
    if len(plain) <= LONGEST_SLUG:
        return plain
    return f"{plain[:LONGEST_SLUG]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def describe_trial(config: Config, variant: str = "", **labels: str) -> TrialDescription:
    """A configuration as a trial of a grid; plugins refer to their copies in the grid's folder."""
    refs = [plugin if isinstance(plugin, Mapping) else _copy_of(plugin) for plugin in config.plugins]
    return TrialDescription(
        trial_id(config, variant),
        config.as_dict() | {"plugins": refs},
        vars(config.values),
        labels_of(config, variant) | labels,
    )


def _copy_of(plugin: str) -> dict[str, str]:
    ref = plugin_ref(plugin)
    return {"file": f"{PLUGINS}/{ref.name}", "sha256": ref.sha256}
