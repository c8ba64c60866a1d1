"""Our algorithms as RLlib algorithms."""
