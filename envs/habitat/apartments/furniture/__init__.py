"""What stands in an apartment, and which room gets what."""
