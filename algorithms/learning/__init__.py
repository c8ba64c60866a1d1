"""Shared by the learners: returns, updates, collectives and checkpoints."""
