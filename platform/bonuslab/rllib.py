"""bonuslab for RLlib's users: exploration bonuses in RLlib's own algorithms, and learner connectors for ours."""

from bonuslab.envs.extras import required_by

with required_by("bonuslab.rllib"):
    from bonuslab.algorithms.rllib.intrinsic_reward import FragmentConnector
    from bonuslab.algorithms.rllib.stock import IntrinsicReward

__all__ = ["FragmentConnector", "IntrinsicReward"]
