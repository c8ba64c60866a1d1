"""`bonuslab report`: the page, figures and tables of a grid."""

from __future__ import annotations

import time
import webbrowser
from argparse import ArgumentParser, Namespace
from pathlib import Path


class ReportCommand:
    """Write the report of a grid, finished or not."""

    help = "write a page with figures and tables of a run or grid, finished or not"
    example = "bonuslab report runs/NAME --metric win_rate"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which grid, what to compare, and where to."""
        parser.add_argument("grid", nargs="?", help="name or folder of a run or grid (default: the newest)")
        parser.add_argument(
            "--out", type=Path, metavar="DIR", help="write here (default: report/ in the grid's folder)"
        )
        parser.add_argument("--metric", metavar="COLUMN", help="column of progress.csv to compare by")
        parser.add_argument("--open", action="store_true", help="open the page in a browser")

    def run(self, arguments: Namespace) -> int:
        """Write it and say where it is."""
        # Imported here, because `bonuslab --help` should not wait for Matplotlib.
        from bonuslab.platform.report import write_report
        from bonuslab.platform.run.find import find_grid

        started = time.perf_counter()

        def tell(line: str) -> None:
            print(f"[{time.perf_counter() - started:5.1f} s] {line}", flush=True)

        page = write_report(find_grid(arguments.grid), arguments.out, arguments.metric, tell)
        tell(f"report: {page}")
        if arguments.open and not webbrowser.open(page.resolve().as_uri()):
            print("there is no browser to open it in")
        return 0
