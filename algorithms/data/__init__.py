"""Trajectories as arrays, and how they are sliced."""
