"""The policy's features, recorded by the runner while acting."""

from __future__ import annotations

import torch
from torch import Tensor

from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.models.shared_model import SharedModel
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.data.tensors import as_tensor
from bonuslab.envs.errors import InvalidInput


def policy_encoder(setting: Setting) -> PolicyEncoder:
    """The policy's features, shared by all terms that use them."""
    return setting.share("policy_encoder", lambda: PolicyEncoder(setting))


class PolicyEncoder(SharedModel):
    """Returns `fragment.policy_features`, which only the policy's own loss trains.

    The policy never acts in the final state of an episode, so the features of `finals` are NaN: use those of s_t only.
    """

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        self._device = setting.device

    def encode(self, fragment: Fragment) -> Tensor:
        if fragment.policy_features is None:
            raise InvalidInput(
                "the bonus needs the policy's features, but the fragment has none: "
                "have the runner record them (needs_policy_features), or choose encoder=inverse"
            )
        rows = as_tensor(fragment.policy_features, self._device).flatten(0, 1)
        unknown = rows.new_full((len(fragment.final_index), rows.shape[1]), torch.nan)
        return torch.cat([rows, unknown])
