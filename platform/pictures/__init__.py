"""Videos, plots and tables for people."""
