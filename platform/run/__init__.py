"""One run: its configuration, folder, training loop and rows."""
