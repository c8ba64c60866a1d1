"""`bonuslab track`: deliver to MLflow what it does not have yet of a grid."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.run.find import find_grid
from bonuslab.platform.run.folder import GridFolder
from bonuslab.platform.run.progress import Progress
from bonuslab.platform.tracking.cursor import undelivered
from bonuslab.platform.tracking.delivery import Busy, Delivery
from bonuslab.platform.tracking.store import store_of


class TrackCommand:
    """See `help`."""

    help = "deliver a grid's numbers to MLflow, as far as they are not there yet"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the command's arguments."""
        parser.add_argument("grid", nargs="?", help="folder or name of a grid (default: the newest below runs/)")
        parser.add_argument(
            "--tracking-uri", metavar="URI", help="sqlite:///FILE.db, http://HOST:PORT, … (default: as the grid says)"
        )

    def run(self, arguments: Namespace) -> int:
        """Deliver; 1 if something could not be delivered."""
        folder = find_grid(arguments.grid)
        store = store_of(folder, arguments.tracking_uri)
        missing = undelivered(folder, store)
        display = Progress(1)
        display.waiting(f"delivering {missing.rows:,} rows of {missing.trials} trials to {store.name}")
        delivery = Delivery(folder, store)

        def show(done: int, total: int) -> None:
            if sys.stdout.isatty():
                display.waiting(f"{done} of {total} trials are in {store.name}")

        try:
            problem = delivery.deliver(_is_driven(folder), show)
        except Busy as error:
            raise InvalidInput(f"{error}; while a grid runs, it does that itself") from error
        finally:
            display.clear()
            delivery.close()
        if problem is not None:
            left = undelivered(folder, store)
            print(f"bonuslab: {problem}", file=sys.stderr)
            print(f"bonuslab: {left.rows:,} rows of {left.trials} trials are still to be delivered", file=sys.stderr)
            return 1
        print(f"everything is in {store.name}; compare the runs with `bonuslab ui {folder.path}`")
        return 0


def _is_driven(folder: GridFolder) -> bool:
    """Whether some process is running the grid; if not, a trial that says it is running was cut short."""
    try:
        folder.lock()
    except InvalidInput:
        return True
    folder.release()
    return False
