"""Memories of bonuses: counts, episodes and covariances."""
