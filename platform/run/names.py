"""Stable names and labels of trials: the same settings are called the same in every grid."""

from __future__ import annotations

import hashlib
import re

from bonuslab.algorithms.bonuses import parse
from bonuslab.envs.catalogue import canonical_name
from bonuslab.platform.run.config import RunSettings

LONGEST_SLUG = 60


def trial_id(settings: RunSettings, variant: str = "") -> str:
    """`<task>__<bonus>__c<contexts>__s<seed>[__variant]`, fit to be the name of a folder."""
    parts = [short_task(settings.task), slug(settings.bonus), f"c{settings.contexts}", f"s{settings.seed}"]
    return "__".join([*parts, slug(variant)] if variant else parts)


def labels_of(settings: RunSettings, variant: str = "") -> dict[str, str]:
    """What trials are grouped and compared by."""
    return {
        "task": short_task(settings.task),
        "contexts": settings.contexts,
        "bonus": settings.bonus,
        "scope": parse(settings.bonus).scope,
        "seed": str(settings.seed),
        "variant": variant,
    }


def short_task(task: str) -> str:
    """A task's name without what all MiniHack names have in common."""
    return canonical_name(task).removeprefix("MiniHack-").removesuffix("-v0")


def slug(text: str) -> str:
    """An expression as part of a file's name: `e3b * rnd` is `e3b-x-rnd`."""
    words = text.replace("*", " x ").replace("+", " plus ")
    plain = re.sub(r"[^A-Za-z0-9.]+", "-", words).strip("-")
    if len(plain) <= LONGEST_SLUG:
        return plain
    return f"{plain[:LONGEST_SLUG]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
