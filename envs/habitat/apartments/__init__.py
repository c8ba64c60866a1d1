"""1,000 furnished apartments made from their numbers, drawn on the CPU."""
