"""`bonuslab report`: a page with figures and tables of a grid."""

from __future__ import annotations

import time
import webbrowser
from argparse import ArgumentParser, Namespace
from pathlib import Path


class ReportCommand:
    """See `help`."""

    help = "write a report with figures and tables of a run or grid, finished or not"
    example = "bonuslab report runs/NAME --metric win_rate"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the command's arguments."""
        parser.add_argument("grid", nargs="?", help="name or folder of a run or grid (default: the newest)")
        parser.add_argument("--out", type=Path, metavar="DIR", help="output folder (default: report/ in the grid's)")
        parser.add_argument("--metric", metavar="COLUMN", help="column of progress.csv to compare by")
        parser.add_argument("--no-open", action="store_true", help="write the report without opening a browser")

    def run(self, arguments: Namespace) -> int:
        """Write the report and print its path."""
        # Imported here so that `bonuslab --help` does not wait for Matplotlib.
        from bonuslab.platform.cli.board import has_screen
        from bonuslab.platform.report.write import write_report
        from bonuslab.platform.run.damage import name_damage
        from bonuslab.platform.run.find import find_grid

        started = time.perf_counter()

        def log(line: str) -> None:
            print(f"[{time.perf_counter() - started:5.1f} s] {line}", flush=True)

        folder = find_grid(arguments.grid)
        name_damage(folder)
        page = write_report(folder, arguments.out, arguments.metric, log)
        log(f"report: {page}")
        if not arguments.no_open and has_screen():
            webbrowser.open(page.resolve().as_uri())
        return 0
