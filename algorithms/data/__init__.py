"""Trajectories as arrays, and how to slice them."""
