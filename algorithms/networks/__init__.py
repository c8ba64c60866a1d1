"""Policy networks and encoders, by family: `build_policy("small", …)`, `build_encoder("paper", …)`.

A further family is one file with an `Encoder` decorated by `@register_family`, imported here.
"""

from bonuslab.algorithms.networks import (  # noqa: F401 (imported to register their families)
    atari,
    cnn,
    mlp,
    paper_fast,
    pixels_small,
    resnet_encoders,
    small,
)
from bonuslab.algorithms.networks.encoder import Encoder, Observations, as_tensors
from bonuslab.algorithms.networks.policy import PolicyNetwork, PolicyOutput
from bonuslab.algorithms.networks.registry import build_encoder, build_policy, families, register_family, resolve_family

__all__ = [
    "Encoder",
    "Observations",
    "PolicyNetwork",
    "PolicyOutput",
    "as_tensors",
    "build_encoder",
    "build_policy",
    "families",
    "register_family",
    "resolve_family",
]
