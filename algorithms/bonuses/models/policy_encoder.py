"""The acting policy's own features, recorded by the runner as it acted."""

from __future__ import annotations

import torch
from torch import Tensor

from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.models.source import Source
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.data.tensors import as_tensor
from bonuslab.envs.errors import InvalidInput


def policy_encoder(setting: Setting) -> PolicyEncoder:
    """The policy's features: one source for all terms that ask for them."""
    return setting.share("policy_encoder", lambda: PolicyEncoder(setting))


class PolicyEncoder(Source):
    """Hands on `fragment.policy_features`; the policy learns them, not this source.

    The policy never acts in the last state of an episode, so the features of `finals` are NaN: only s_t may be used.
    """

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        self._setting = setting

    def encode(self, fragment: Fragment) -> Tensor:
        if fragment.policy_features is None:
            raise InvalidInput(
                "the bonus uses the policy's own features, but the fragment has none: "
                "let the runner record them (its bonus has needs_policy_features), or choose encoder=inverse"
            )
        rows = as_tensor(fragment.policy_features, self._setting.device).flatten(0, 1)
        unknown = rows.new_full((len(fragment.final_index), rows.shape[1]), torch.nan)
        return torch.cat([rows, unknown])
