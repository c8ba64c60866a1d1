"""Inner loops of the networks on the CPU, compiled by numba; the PyTorch code that uses them is their specification."""

from bonuslab.envs.numba_cache import load_without_compiler

load_without_compiler()
