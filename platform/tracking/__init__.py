"""MLflow follows the files of a grid. Importing this imports no MLflow: that lives in a process of its own."""

from bonuslab.platform.run.redaction import redacted
from bonuslab.platform.tracking.follower import Follower

__all__ = ["Follower", "redacted"]
