"""The report of a grid: one page, and figures and tables for a paper."""

from bonuslab.platform.report.write import write_report

__all__ = ["write_report"]
