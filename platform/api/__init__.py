"""What `import bonuslab` offers: train, grid, load and plot."""
