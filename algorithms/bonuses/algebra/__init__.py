"""Expressions over bonuses."""
