"""The count study: its rows, and its results beside the paper's tables."""
