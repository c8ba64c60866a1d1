"""The board's server: what it serves, and what it never serves."""

from __future__ import annotations

import json
import socket
import tomllib
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest
import requests

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.board.guard import is_own, own_names
from bonuslab.platform.board.links import given_address, web_address
from bonuslab.platform.board.server import PORT, listen
from bonuslab.platform.run.folder import GridFolder

ROOT = Path(__file__).parents[3]
SECRET = "hunter2secret"


@pytest.fixture
def grid(tmp_path: Path, write_sample_grid: Callable[..., GridFolder]) -> GridFolder:
    """A grid with a video, a run in MLflow, and secrets wherever they might be."""
    folder = write_sample_grid(tmp_path / "runs" / "grid", seeds=(0,), rows=4)
    description = folder.description()
    options = {"ray_dashboard": f"http://me:{SECRET}@10.0.0.1:8265/?token={SECRET}", "password": SECRET}
    command = {**description.commands[0], "command": f"bonuslab grid --tracking-uri https://me:{SECRET}@mlflow.example"}
    trials = [replace(trial, config={**trial.config, "key": SECRET}) for trial in description.trials]
    trials[0] = replace(trials[0], labels={**trials[0].labels, "token": SECRET})
    folder.write(replace(description, trials=trials, commands=[command], options=options))
    first, failed = folder.trials()[0], folder.trials()[-3]
    first.video.write_bytes(b"GIF89a video")
    first.tracking_file.write_text(json.dumps({"stores": {"mlflow.db": {"run_id": "ab12", "experiment_id": "3"}}}))
    failed.error_file.write_text(f"Traceback\nOSError: https://me:{SECRET}@host/path\n")
    replace(failed.state(), error=f"password={SECRET}", checkpoints=[f"s3://{SECRET}"]).write(failed.state_file)
    (tmp_path / "secret.txt").write_text(SECRET)
    (folder.path / "secret.txt").write_text(SECRET)
    return folder


def test_serves_the_page_and_the_data(grid: GridFolder, serve: Callable[..., str]) -> None:
    board = serve(grid.path.parent, mlflow_ui="http://127.0.0.1:5000")
    page = requests.get(board)
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    (line,) = requests.get(f"{board}/api/grids").json()["grids"]
    assert (line["id"], line["summary"]["trials"]) == ("grid", 8)
    assert len(requests.get(f"{board}/api/grids/grid").json()["cells"]) == 8

    trial = f"{board}/api/grids/grid/trials/{grid.trials()[0].id}"
    answer = requests.get(trial)
    page = answer.json()
    href = "http://127.0.0.1:5000/#/experiments/3/runs/ab12?workflowType=machine_learning"
    assert page["mlflow"] == {"run": "ab12", "href": href}
    assert page["ray"] == "http://10.0.0.1:8265"
    assert page["curves"]["columns"][0]["name"] == "win_rate"
    assert requests.get(trial, headers={"If-None-Match": answer.headers["ETag"]}).status_code == 304
    compared = requests.get(f"{board}/api/grids/grid/comparison?metric=episode_return")
    assert compared.json()["metric"] == "episode_return"
    same = {"If-None-Match": compared.headers["ETag"]}
    assert requests.get(f"{board}/api/grids/grid/comparison?metric=episode_return", headers=same).status_code == 304
    assert requests.get(f"{board}/api/grids/other/comparison").status_code == 404
    video = requests.get(f"{trial}/video.gif")
    assert (video.content, video.headers["content-type"]) == (b"GIF89a video", "image/gif")
    grid.trials()[0].video.unlink()
    assert requests.get(trial, headers={"If-None-Match": answer.headers["ETag"]}).json()["video"] is None


def test_serves_no_secrets(grid: GridFolder, serve: Callable[..., str]) -> None:
    board = serve(grid.path.parent)
    places = ["", "/api/grids", "/api/grids/grid", "/api/grids/grid/comparison"]
    places += [f"/api/grids/grid/trials/{trial.id}" for trial in (grid.trials()[0], grid.trials()[-3])]
    for place in places:
        answer = requests.get(board + place)
        assert answer.status_code == 200
        assert SECRET not in answer.text
    assert "OSError" in answer.json()["traceback"]


PATHS_ELSEWHERE = (
    "/static/../server.py",
    "/static/..%2fserver.py",
    "/static/",
    "/static",
    "/api/grids/..",
    "/api/grids/..%2f..",
    "/api/grids/grid/trials/..",
    "/api/grids/grid/trials/..%2f..%2fsecret.txt",
    "/api/grids/grid/trials/../../secret.txt",
    "/api/grids/grid/trials/../video.gif",
    "/api/grids/other",
    "/grid/grid.json",
    "/secret.txt",
    "//etc/passwd",
)


def test_only_reads_and_only_its_own_files(grid: GridFolder, serve: Callable[..., str]) -> None:
    board = serve(grid.path.parent)
    host, port = board.removeprefix("http://").split(":")
    for path in PATHS_ELSEWHERE:
        # Through a bare socket: a client library would tidy the path up.
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            answer = b"".join(iter(lambda: connection.recv(65_536), b"")).decode()
        assert answer.split()[1] == "404", path
        assert SECRET not in answer
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        assert requests.request(method, f"{board}/api/grids/grid").status_code == 405, method


def test_links_inside_a_grid_are_not_followed(grid: GridFolder, serve: Callable[..., str], tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    first, second = grid.trials()[0], grid.trials()[1]
    second.path.rename(outside)  # a whole trial
    second.path.symlink_to(outside)
    for file in (first.video, first.error_file, first.progress, first.tracking_file, first.state_file):
        elsewhere = tmp_path / file.name
        elsewhere.write_text(f"env_steps,{SECRET}\n1,2\n" if file == first.progress else f'{{"error": "{SECRET}"}}')
        file.unlink(missing_ok=True)
        file.symlink_to(elsewhere)
    board = serve(grid.path.parent)
    api = f"{board}/api/grids/grid"
    assert requests.get(f"{api}/trials/{first.id}/video.gif").status_code == 404
    page = requests.get(f"{api}/trials/{first.id}")
    assert page.status_code == 200
    assert (page.json()["curves"]["rows"], page.json()["traceback"], page.json()["mlflow"]) == (0, "", {})
    assert requests.get(f"{api}/trials/{second.id}").status_code == 404
    cells = {cell["id"]: cell for cell in requests.get(api).json()["cells"]}
    assert cells[first.id]["status"] == "waiting"
    assert cells[second.id]["error"] == "its folder is a link, which the board does not follow"
    assert SECRET not in page.text + requests.get(api).text
    generation = requests.get(api).json()["version"].split(".")[0]
    for since in ("9" * 5_000, "²"):
        assert requests.get(f"{api}?since={generation}.{since}").status_code == 200
    (grid.path / "grid.json").rename(tmp_path / "grid.json")
    (grid.path / "grid.json").symlink_to(tmp_path / "grid.json")
    assert requests.get(api).status_code == 409


def test_answers_to_its_own_host_names_only(grid: GridFolder, serve: Callable[..., str]) -> None:
    board = serve(grid.path.parent)
    assert requests.get(board, headers={"Host": "evil.example"}).status_code == 403
    assert requests.get(board, headers={"Host": "localhost:8600"}).status_code == 200
    names = own_names("0.0.0.0")
    for own in ("127.0.0.1:8600", "[::1]:8600", "[::1]", "192.168.1.5", socket.gethostname(), "LOCALHOST:1"):
        assert is_own(own, names), own
    for foreign in ("", "example.com", "127.0.0.1.example.com:8600", "localhost.example.com"):
        assert not is_own(foreign, names), foreign


def test_reports_a_damaged_grid(grid: GridFolder, serve: Callable[..., str]) -> None:
    board = serve(grid.path.parent, only="grid")
    for name in ("grid.copy.json", "grid.json"):
        (grid.path / name).write_text("{")
    answer = requests.get(f"{board}/api/grids/grid")
    assert answer.status_code == 409
    assert "cannot be read" in answer.json()["problem"]
    (grid.path / "grid.json").unlink()
    assert "no longer exists" in requests.get(f"{board}/api/grids/grid").json()["problem"]


def test_a_port_in_use_is_reported_and_a_free_one_found() -> None:
    with listen("127.0.0.1", 0) as taken:
        number = taken.getsockname()[1]
        with pytest.raises(InvalidInput, match=f"port {number} of 127.0.0.1 is in use"):
            listen("127.0.0.1", number)
    with listen("127.0.0.1", None) as first, listen("127.0.0.1", None) as second:
        assert PORT <= first.getsockname()[1] < second.getsockname()[1]
    with pytest.raises(InvalidInput, match="0 to 65535"):
        listen("127.0.0.1", 70_000)
    with pytest.raises(InvalidInput, match="invalid --host"):
        listen("no such host", 0)
    with pytest.raises(InvalidInput, match="cannot listen on 203"):
        listen("203.0.113.7", 0)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("http://10.0.0.1:8265/", "http://10.0.0.1:8265"),
        ("https://me:pass@mlflow.example/base?token=1#x", "https://mlflow.example/base"),
        ("http://[::1]:5000", "http://[::1]:5000"),
        ("javascript:alert(1)", None),
        ("sqlite:///mlflow.db", None),
        ("http://", None),
        ("http://host:port", None),
        (None, None),
    ],
)
def test_only_web_addresses_become_links(text: str | None, address: str | None) -> None:
    assert web_address(text) == address


def test_the_mlflow_address_is_checked() -> None:
    assert given_address("127.0.0.1:5000") == "http://127.0.0.1:5000"
    assert given_address(None) is None
    with pytest.raises(InvalidInput, match="not a web address"):
        given_address("javascript://x")


def test_every_page_file_is_in_the_wheel_and_loads_nothing_from_elsewhere() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    (pattern,) = settings["bonuslab.platform.board"]
    folder = ROOT / "platform" / "board"
    static = [file for file in folder.rglob("*") if file.is_file() and file.suffix not in (".py", ".pyc")]
    assert {file.name for file in static} >= {"index.html", "board.js", "page.css", "icon.svg"}
    assert set(static) == set(folder.glob(pattern))
    assert files("bonuslab.platform.board").joinpath("static-files/index.html").is_file()
    for file in static:
        text = file.read_text().replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text
        assert "https:" not in text
        assert "innerHTML" not in text
        assert len(text.splitlines()) <= 400
