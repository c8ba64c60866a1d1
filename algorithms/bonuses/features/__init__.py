"""What of a state is counted."""
