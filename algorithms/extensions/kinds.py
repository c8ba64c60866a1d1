"""What a user can register, and the tables that hold it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bonuslab.algorithms.bonuses.algebra import registry as bonuses
from bonuslab.algorithms.bonuses.features import state_features as features
from bonuslab.algorithms.networks import registry as networks
from bonuslab.envs.gym import registry as environments
from bonuslab.envs.origin import Origin, origin_of


@dataclass(frozen=True)
class Kind:
    """A registry."""

    table: Callable[[], dict[Any, Any]]
    """Its entries by name; a feature's key is its name and needs."""
    definition: Callable[[Any], Any]
    """The class or function in an entry."""
    users_only: bool = False
    """Whether even entries with a definition of bonuslab's are the user's."""


KINDS = {
    "bonus": Kind(lambda: bonuses._BONUSES, lambda entry: entry),
    "feature": Kind(lambda: features._FEATURES, lambda entry: entry.function),
    "network": Kind(lambda: networks._FAMILIES, lambda entry: entry.make_encoder),
    "environment": Kind(lambda: environments.USER_ENVIRONMENTS, lambda entry: entry.make, users_only=True),
}


@dataclass(frozen=True)
class Slot:
    """A place in a registry."""

    kind: str
    key: Any

    @property
    def name(self) -> str:
        """The name a user knows it by."""
        return self.key if isinstance(self.key, str) else self.key[0]

    @property
    def entry(self) -> Any:
        """What is registered here, or None."""
        return KINDS[self.kind].table().get(self.key)

    @property
    def origin(self) -> Origin:
        """Where the entry was defined."""
        return origin_of(KINDS[self.kind].definition(self.entry))

    def put(self, entry: Any) -> None:
        """Register an entry here, whoever owns the name."""
        KINDS[self.kind].table()[self.key] = entry


def user_entries() -> dict[Slot, Any]:
    """Everything registered that is not part of bonuslab."""
    slots = [Slot(kind, key) for kind, registry in KINDS.items() for key in registry.table()]
    return {slot: slot.entry for slot in slots if KINDS[slot.kind].users_only or not slot.origin.built_in}


def restore(before: dict[Slot, Any]) -> None:
    """Make `user_entries()` what they were."""
    for slot in user_entries():
        del KINDS[slot.kind].table()[slot.key]
    for slot, entry in before.items():
        slot.put(entry)
