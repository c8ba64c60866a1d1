"""What bonuses remember: counts, episodes and covariances."""
