"""Acting: rollouts, env runners and evaluation."""
