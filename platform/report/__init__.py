"""The report of a grid: one page, and figures and tables for a paper."""
