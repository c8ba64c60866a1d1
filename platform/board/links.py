"""Links of the page. They come from files, so only plain web addresses without credentials pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bonuslab.algorithms.data.small_files import DamagedFile, read_json
from bonuslab.envs.errors import InvalidInput


def web_address(text: object) -> str | None:
    """An http address without user, password, query and trailing slash; None for anything else."""
    if not isinstance(text, str):
        return None
    try:
        parts = urlsplit(text.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not host:
        return None
    place = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{place}{f':{port}' if port else ''}{parts.path.rstrip('/')}"


def given_address(text: str | None) -> str | None:
    """A user's address, checked to be a web address."""
    if text is None:
        return None
    address = web_address(text if "://" in text else f"http://{text}")
    if address is None:
        raise InvalidInput(f"{text!r} is not a web address; MLflow's is, for example, http://127.0.0.1:5000")
    return address


def mlflow_run(tracking_file: Path, store: str, ui: str | None) -> dict[str, str]:
    """A trial's run in MLflow: its id, and a link where the address of MLflow's pages is known."""
    try:
        stores: Any = read_json(tracking_file)["stores"]
        found = stores[store] if store in stores else next(iter(stores.values()))
        run, experiment = str(found["run_id"]), str(found.get("experiment_id"))
    except (DamagedFile, FileNotFoundError, LookupError, TypeError, AttributeError, StopIteration):
        return {}
    if not run.isalnum():
        return {}
    if ui is None or not experiment.isalnum():
        return {"run": run}
    return {"run": run, "href": f"{ui}/#/experiments/{experiment}/runs/{run}?workflowType=machine_learning"}
