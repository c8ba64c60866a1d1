"""From a policy to fragments: rollouts, runners and evaluation."""
