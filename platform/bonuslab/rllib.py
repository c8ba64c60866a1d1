"""Exploration bonuses for RLlib's own algorithms: `from bonuslab.rllib import IntrinsicReward`."""

from bonuslab.algorithms.rllib.stock import IntrinsicReward

__all__ = ["IntrinsicReward"]
