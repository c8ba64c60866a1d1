"""The Python API behind `import bonuslab`: train, grid, load and plot."""
