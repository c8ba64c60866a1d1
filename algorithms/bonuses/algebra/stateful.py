"""Save and restore objects attribute by attribute, as `torch.nn.Module` does."""

from __future__ import annotations

from typing import Any


class Stateful:
    """The state of every attribute that has a `state_dict`, by name without its leading underscore.

    Shared models are left out: the `Setting` saves each of them once.
    """

    def state_dict(self) -> dict[str, Any]:
        """Everything learnt and remembered."""
        return {name: part.state_dict() for name, part in self._parts().items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The inverse of `state_dict`."""
        for name, part in self._parts().items():
            part.load_state_dict(state[name])

    def _parts(self) -> dict[str, Any]:
        return {
            name.lstrip("_"): part
            for name, part in vars(self).items()
            if hasattr(part, "state_dict") and not getattr(part, "saved_by_setting", False)
        }
