"""MLflow follows the files of a grid. Importing this imports no MLflow: that lives in a process of its own."""

from bonuslab.platform.tracking.follower import Follower
from bonuslab.platform.tracking.redaction import redacted

__all__ = ["Follower", "redacted"]
