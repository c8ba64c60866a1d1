"""Ray for one run: started or joined quietly, and shut down cleanly."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import ray

from bonuslab.algorithms.rllib.config import FragmentConfig
from bonuslab.envs.errors import InvalidInput

QUIET = {"enable_metrics_collection": False, "task_events_report_interval_ms": 0, "event_stats": False}
"""Without the dashboard nobody reads Ray's metrics and events; a cluster by `ray start --head` has all of them."""


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
def ray_session() -> Iterator[None]:
    """Join the cluster at RAY_ADDRESS or start Ray on this machine; disconnect or stop it at the end.

    If Ray is already initialised in this process, as in a notebook, it is used and left running.
    """
    if ray.is_initialized():
        yield
        return
    address = cluster_address()
    try:
        # Without an address, Ray would join any cluster it finds on this machine.
        ray.init(
            address=address or "local",
            logging_level=logging.ERROR,
            log_to_driver=False,
            **({} if address else {"include_dashboard": False, "_system_config": QUIET}),
        )
    except (ConnectionError, ValueError, RuntimeError) as error:
        if address is None:
            raise
        hint = "a cluster with token authentication also needs RAY_AUTH_MODE=token"
        raise InvalidInput(f"no Ray cluster answers at RAY_ADDRESS={address}: {error} ({hint})") from error
    try:
        yield
    finally:
        ray.shutdown()


def require_room(config: FragmentConfig, available: dict[str, float]) -> None:
    """Reject resources that do not exist: Ray would wait for them forever."""
    request = config.algo_class.default_resource_request(config).required_resources
    for kind in ("CPU", "GPU"):
        needed, there = request.get(kind, 0.0), available.get(kind, 0.0)
        if needed > there:
            raise InvalidInput(
                f"these resources need {needed:g} {kind}s, but there are {there:g}; choose others with --resources"
            )
