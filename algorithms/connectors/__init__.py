"""Pieces of RLlib's learner connector pipeline that work on fragments."""
