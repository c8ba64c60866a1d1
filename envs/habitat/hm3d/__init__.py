"""HM3D's scanned houses, simulated by habitat-sim."""
