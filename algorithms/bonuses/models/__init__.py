"""Where features come from: networks that several terms of an expression share."""
