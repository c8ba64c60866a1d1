"""What a family of environments offers to everything that knows environments by name."""

from __future__ import annotations

from typing import Any, Protocol

from bonuslab.envs.lanes import Lanes


class Family(Protocol):
    """Environments that share a naming scheme and an implementation.

    A family is one module, `envs/<family>/family.py`, with an object `FAMILY` of this kind; `envs/catalogue.py` says
    which names are its own. Everything a user can get wrong raises `InvalidInput` here, before anything is started.
    """

    name: str
    """`minihack`, `habitat`, `montezuma`."""

    def canonical_name(self, name: str) -> str:
        """The full name of the environment meant by `name`; an unknown one is refused."""
        ...

    def check_contexts(self, name: str, contexts: str) -> None:
        """Refuse a number of contexts that this environment does not have; `contexts` is a number or `inf`."""
        ...

    def make_lanes(self, name: str, num_lanes: int, **settings: Any) -> Lanes:
        """N lanes.

        Every family understands `contexts`, `seed`, `held_out` (evaluation: only contexts that training never meets,
        if there are any) and `stream` (a number that differs between runners, and between lives of a runner); it may
        understand more. An unknown setting is refused.
        """
        ...
