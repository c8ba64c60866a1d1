"""Grids of runs on Ray Tune: declaration, planning, execution and recovery from failures."""
