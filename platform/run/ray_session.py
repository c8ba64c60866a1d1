"""Ray for one run: started or joined quietly, and shut down cleanly."""

from __future__ import annotations

import logging
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import ray
from ray._private import node, ray_constants, services, utils, worker
from ray._raylet import Config  # type: ignore[attr-defined]
from ray.tune.registry import ENV_CREATOR, _global_registry

from bonuslab.algorithms.rllib.config import FragmentConfig
from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.scratch import remove_abandoned

QUIET = {
    "enable_metrics_collection": False,
    "task_events_report_interval_ms": 0,
    "event_stats": False,
    "prestart_worker_first_driver": False,
    "enable_worker_prestart": False,
}
"""Without the dashboard nobody reads Ray's metrics and events; a cluster by `ray start --head` has all of them.

Nor does a run need idle workers: it starts all its actors at once.
"""

CHECK_SECONDS = 2.0
PATIENCE_SECONDS = 15.0
"""How long a call may wait for a Ray that has died; Ray itself waits a minute."""

HINT = "a cluster with token authentication needs RAY_AUTH_MODE=token"
_AUTH_MODE = "RAY_AUTH_MODE"
_TOKEN = Path.home() / ".ray" / "auth_token"


def silence_notices() -> None:
    """Hide Ray's and RLlib's notices and deprecation warnings, which users cannot act on; errors are shown."""
    for name in ("ray", "ray.rllib", "ray.tune", "ray.data"):
        logging.getLogger(name).setLevel(logging.ERROR)
    for category in (DeprecationWarning, FutureWarning):
        warnings.filterwarnings("ignore", category=category)


def cluster_address() -> str | None:
    """The address of a running cluster, from Ray's own variable RAY_ADDRESS."""
    return os.environ.get("RAY_ADDRESS") or None


@contextmanager
def _private() -> Iterator[None]:
    """Within this context Ray starts with token authentication, and all of it listens on loopback addresses only.

    It also starts in a process group of its own: a SIGTERM to the group of this process, as from a job scheduler, would
    end Ray before the trials have saved their work.
    """
    if _AUTH_MODE not in os.environ:  # an explicit choice of the user stays
        os.environ[_AUTH_MODE] = "token"
        Config.initialize("")  # Ray read its environment when it was imported
    cluster, before = ray_constants.ENABLE_RAY_CLUSTER, os.environ.get(ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR)
    # For this process and for those of Ray. It is their default on macOS and Windows.
    ray_constants.ENABLE_RAY_CLUSTER = False
    os.environ[ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR] = "0"
    start_process = services.ConsolePopen
    if sys.platform == "linux":  # where Ray's processes end with this one in any case
        services.ConsolePopen = partial(start_process, process_group=0)
    try:
        yield
    finally:
        services.ConsolePopen = start_process
        ray_constants.ENABLE_RAY_CLUSTER = cluster
        os.environ.pop(ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR)
        if before is not None:
            os.environ[ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR] = before
        with suppress(OSError):
            _TOKEN.chmod(0o600)  # Ray lets every user of the machine read it


@contextmanager
def _few_processes() -> Iterator[None]:
    """Within this context Ray starts without what displays a cluster: dashboard, monitors, half of the agent."""
    names = ("start_log_monitor", "start_monitor", "start_api_server")
    methods = [getattr(node.Node, name) for name in names]
    dependencies = utils.get_dashboard_dependency_error
    for name in names:
        setattr(node.Node, name, lambda *_, **__: None)
    utils.get_dashboard_dependency_error = lambda: ImportError("no dashboard is wanted")
    try:
        yield
    finally:
        for name, method in zip(names, methods, strict=True):
            setattr(node.Node, name, method)
        utils.get_dashboard_dependency_error = dependencies


def start_ray(dashboard: bool = False, **options: Any) -> Any:
    """Start Ray on this machine. A machine that is too busy for Ray's time limits gets a second chance.

    With a dashboard, Ray starts it if it can.
    """
    quiet: dict[str, Any] = {} if dashboard else {"include_dashboard": False, "_system_config": QUIET}
    options |= {"address": "local", "logging_level": logging.ERROR, "log_to_driver": False, **quiet}
    for attempt in (1, 2):
        try:
            with _private(), nullcontext() if dashboard else _few_processes():
                return ray.init(**options)
        except (ValueError, TypeError, ImportError):
            raise
        except Exception as error:  # Ray raises a plain Exception if it times out
            ray.shutdown()
            if attempt == 2:
                reason = " ".join(str(error).split()) or type(error).__name__
                raise InvalidInput(
                    f"Ray did not start on this machine in two attempts: {reason.rstrip('.')}; nothing was trained, so "
                    "try again when the machine is less busy, or train without Ray (--serial)"
                ) from error
    raise AssertionError("unreachable")


def ray_has_died() -> bool:
    """Whether a process of the Ray that this process started has ended; Ray itself waits a minute for it."""
    own = worker._global_node
    dead = own.dead_processes() if own is not None else []
    return any(kind in (ray_constants.PROCESS_TYPE_GCS_SERVER, ray_constants.PROCESS_TYPE_RAYLET) for kind, _ in dead)


def ray_died() -> str:
    """Says so, and where its logs are."""
    own = worker._global_node
    return f"Ray has died on this machine{f' (its logs are in {own.get_logs_dir_path()})' if own is not None else ''}"


@contextmanager
def ending_with_ray(give_up: Callable[[], None]) -> Iterator[None]:
    """Call `give_up` and end this process if Ray has died and something within this context keeps waiting for it.

    Otherwise Ray would end the process after a minute, with a page of its log and nothing saved.
    """
    over = threading.Event()

    def watch() -> None:
        while not over.wait(CHECK_SECONDS):
            if ray_has_died() and not over.wait(PATIENCE_SECONDS):
                give_up()
                sys.stdout.flush()
                os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        over.set()


@contextmanager
def ray_session(address: str | None = None, dashboard: bool = False) -> Iterator[str]:
    """Join the cluster at `address` or start Ray on this machine; disconnect or stop it at the end.

    Yields host and port of the dashboard, or nothing. If Ray is already initialised in this process, as in a notebook,
    it is used and left running.
    """
    if ray.is_initialized():
        yield ""
        return
    environments = {key: creator for key, creator in _global_registry._to_flush.items() if key[0] == ENV_CREATOR}
    try:
        # Without an address, Ray would join any cluster it finds on this machine.
        if address is None:
            context = start_ray(dashboard)
        else:
            context = ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False)
    except (ConnectionError, ValueError, RuntimeError) as error:
        if address is None:
            raise
        raise InvalidInput(f"cannot join the Ray cluster at {address}: {error} ({HINT})") from error
    try:
        yield context.dashboard_url or ""
    finally:
        stop_ray()
        # What `register_env` knew has gone with this Ray, but a script may train there again.
        _global_registry._to_flush.update(environments)
        _global_registry._prefix = None  # of this Ray's job


def stop_ray() -> None:
    """Leave the cluster, or stop the Ray of this process; no temporary folder of a worker remains on this machine."""
    workers = _local_workers()
    ray.shutdown()
    psutil.wait_procs(workers, PATIENCE_SECONDS)  # Ray kills them and does not wait
    remove_abandoned()


def _local_workers() -> list[psutil.Process]:
    """Processes that the raylet started which this process started."""
    own = worker._global_node
    raylets = own.all_processes.get(ray_constants.PROCESS_TYPE_RAYLET, []) if own is not None else []
    with suppress(psutil.NoSuchProcess):
        return [child for info in raylets for child in psutil.Process(info.process.pid).children(recursive=True)]
    return []


def require_room(config: FragmentConfig, available: dict[str, float]) -> None:
    """Reject resources that do not exist: Ray would wait for them forever."""
    request = config.algo_class.default_resource_request(config).required_resources
    for kind in ("CPU", "GPU"):
        needed, there = request.get(kind, 0.0), available.get(kind, 0.0)
        if needed > there:
            raise InvalidInput(
                f"these resources need {needed:g} {kind}s, but there are {there:g}; choose others with --resources"
            )
