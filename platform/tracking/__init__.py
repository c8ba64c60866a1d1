"""MLflow follows the files of a grid, in its own process: importing this package does not import MLflow."""

from bonuslab.platform.tracking.follower import Follower

__all__ = ["Follower"]
