"""Inner loops of the networks on the CPU, compiled by numba; the PyTorch code that uses them is their specification."""
