"""Which Ray a grid runs on."""

from __future__ import annotations

import socket
from argparse import SUPPRESS, ArgumentParser

import pytest

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.grid import cluster
from bonuslab.platform.grid.arguments import add_session_arguments
from bonuslab.platform.grid.command import session_options
from bonuslab.platform.grid.session import SessionOptions
from bonuslab.platform.run import ray_session


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(cluster.services, "find_bootstrap_address", lambda folder: None)


def test_an_address_is_taken_from_the_nearest_who_names_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cluster.find_address(None) is None
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    assert cluster.find_address(None) == "10.0.0.1:6379"
    assert cluster.find_address("auto") == "auto"
    assert cluster.find_address("local") is None


def test_the_cluster_of_this_machine_is_joined_if_it_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        monkeypatch.setattr(cluster.services, "find_bootstrap_address", lambda folder: address)
        assert cluster.find_address(None) == address
        assert cluster.find_address("local") is None
    assert cluster.find_address(None) is None, "a cluster that has gone is not waited for"


def test_a_client_of_a_far_cluster_is_told_how_to_do_it() -> None:
    with pytest.raises(InvalidInput, match="ray submit"):
        cluster.find_address("ray://10.0.0.1:10001")


def test_a_grid_on_this_machine_has_rays_dashboard_only_if_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def start(dashboard: bool) -> None:
        asked.append(dashboard)
        raise InvalidInput("no Ray in this test")

    monkeypatch.setattr(ray_session, "start_ray", start)
    monkeypatch.setattr(cluster.ray, "is_initialized", lambda: False)
    for words in ([], ["--ray-dashboard"]):
        parser = ArgumentParser(argument_default=SUPPRESS)
        add_session_arguments(parser, "runs/x")
        options = SessionOptions(**session_options(vars(parser.parse_args(words))))
        with pytest.raises(InvalidInput, match="no Ray"), cluster.joined(None, options.ray_dashboard):
            pass
    assert asked == [False, True]
