"""A fresh encoder for a bonus, on its device."""

from __future__ import annotations

from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.networks import Encoder, build_encoder
from bonuslab.algorithms.networks.running_moments import connect


def bonus_encoder(setting: Setting) -> Encoder:
    """An encoder of the setting's network family; its image statistics are those of all replicas."""
    encoder = build_encoder(setting.network, setting.observation_space)
    connect(encoder, lambda tensor: setting.collectives.sum(tensor))
    return encoder.to(setting.device)
