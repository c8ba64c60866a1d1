"""Networks that several terms of an expression share."""
