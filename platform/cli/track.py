"""`bonuslab track`: sync missing metrics to MLflow."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.run.damage import name_damage
from bonuslab.platform.run.find import find_grid
from bonuslab.platform.run.folder import GridFolder
from bonuslab.platform.run.progress import Progress
from bonuslab.platform.tracking.cursor import undelivered
from bonuslab.platform.tracking.delivery import Busy, Delivery
from bonuslab.platform.tracking.store import Store, store_of


class TrackCommand:
    """See `help`."""

    help = "sync missing metrics of a run or grid to MLflow"
    example = "bonuslab track runs/NAME --tracking-uri http://127.0.0.1:5000"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the command's arguments."""
        parser.add_argument("grid", nargs="?", help="name or folder of a run or grid (default: the newest below runs/)")
        parser.add_argument(
            "--tracking-uri", metavar="URI", help="sqlite:///FILE.db or http://HOST:PORT (default: the grid's own)"
        )

    def run(self, arguments: Namespace) -> int:
        """Sync; 1 if that failed."""
        folder = find_grid(arguments.grid)
        name_damage(folder)
        store = store_of(folder, arguments.tracking_uri)
        try:
            problem = sync(folder, store)
        except Busy as error:
            raise InvalidInput(f"{error}; a running grid syncs itself") from error
        if problem is not None:
            left = undelivered(folder, store)
            print(f"bonuslab: {problem}", file=sys.stderr)
            print(f"bonuslab: {left.rows:,} rows of {left.trials} trials are not synced yet", file=sys.stderr)
            return 1
        print(f"everything is in {store.name}; compare the runs with `bonuslab ui {folder.path}`")
        return 0


def sync(folder: GridFolder, store: Store) -> str | None:
    """Sync what the store lacks; returns the problem in one sentence, if there is one."""
    missing = undelivered(folder, store)
    display = Progress(1)
    if missing:
        display.waiting(f"syncing {missing.rows:,} rows of {missing.trials} trials to {store.name}")
    delivery = Delivery(folder, store)

    def show(done: int, total: int) -> None:
        display.hint(f"{done} of {total} trials synced to {store.name}")

    try:
        problem = delivery.deliver(_is_driven(folder), show)
        if delivery.lost:  # what is in its place is filled at once
            display.note(problem or "")
            problem = delivery.deliver(_is_driven(folder), show)
        return problem
    finally:
        display.clear()
        delivery.close()


def _is_driven(folder: GridFolder) -> bool:
    """Whether a process is running the grid; if not, a trial with status `running` was interrupted."""
    try:
        folder.lock()
    except InvalidInput:
        return True
    folder.release()
    return False
