"""What learners share: returns, updates, collectives and checkpoints."""
