"""IMPALA on RLlib, with intrinsic rewards from a bonus model that all runners share."""
