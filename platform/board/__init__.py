"""A live page of a grid: reads the grid's folder, keeps what it read, and serves it to a browser."""
