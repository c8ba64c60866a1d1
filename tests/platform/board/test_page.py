"""The page in a real browser: contents, clicks, keys, and changes on disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from bonuslab.platform.run.folder import GridFolder
from bonuslab.platform.run.rows import RowWriter

pytestmark = pytest.mark.needs("chromium")
CURVE = "document.querySelector('.chart[data-column=\"{}\"] .curve').getAttribute('d')"
SIDES = ("left", "right")
OPEN_TITLE = "document.querySelector('#trial:not([hidden]) h2')?.textContent"


@pytest.fixture
def grid(tmp_path: Path, write_sample_grid: Callable[..., GridFolder]) -> GridFolder:
    folder = write_sample_grid(tmp_path / "runs" / "grid", seeds=(0, 1), rows=10)
    frames = [Image.new("P", (40, 20), colour) for colour in (0, 1)]
    frames[0].save(folder.trials()[0].video, save_all=True, append_images=frames[1:])
    return folder


@pytest.fixture
def page(grid: GridFolder, serve: Callable[..., str], browser: Any) -> Any:
    """The grid's page on a desktop."""
    browser.size(1280, 800)
    browser.open(serve(grid.path.parent))
    browser.wait("document.querySelectorAll('button.cell.known').length === 15")
    yield browser
    # Nothing was blocked, missing or thrown.
    assert browser.complaints == []


def cell(identifier: str) -> str:
    return f'button.cell[data-id="{identifier}"]'


def test_shows_every_trial_and_the_curves_of_the_one_clicked(grid: GridFolder, page: Any) -> None:
    assert page.read("location.hash") == "#grid=grid", "one grid alone needs no list"
    assert page.read("document.querySelectorAll('.panel').length") == 4
    assert page.read("[...document.querySelectorAll('.panel h3')].map((e) => e.textContent)") == [
        "none",
        "rnd",
        "e3b",
        "e3b * rnd",
    ]
    trials = grid.trials()
    label = page.read(f"document.querySelector('{cell(trials[-2].id)}').getAttribute('aria-label')")
    assert label.startswith("KeyRoom-S5, e3b * rnd, seed 0: running, 50 %, win rate 0.4")
    assert label.endswith("25 s left")
    assert page.read("document.querySelector('.figures .trials b').textContent") == "13 / 16"
    assert "1 min" in page.read("document.querySelector('.figures .left b').textContent")

    page.click(cell(trials[0].id))
    page.wait(f"{OPEN_TITLE} === 'MultiRoom-N4-S5' && document.querySelectorAll('.chart').length >= 7")
    points = page.read(CURVE.format("win_rate"))[1:].split("L")
    assert len(points) == 10
    heights = [float(point.split()[1]) for point in points]
    assert heights == sorted(heights, reverse=True), "the win rate rises, so the curve climbs"
    rows = trials[0].rows()
    assert heights[-1] == pytest.approx(100 * (1 - rows["win_rate"].iloc[-1]), abs=0.02)
    assert page.wait("document.querySelector('.video img')?.naturalWidth") == 40

    page.click(".chart[data-column='episode_return'] .plot")  # scrolls there
    box = page.read(
        "(() => { const b = document.querySelector('.chart[data-column=\"episode_return\"] .plot')"
        ".getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; })()"
    )
    page.move(box[0] + 0.5 * box[2], box[1] + box[3] / 2)
    read = page.read("document.querySelector('.chart[data-column=\"win_rate\"] output').textContent")
    assert read == f"{rows['win_rate'].iloc[4]:.3g} at 50k", "all curves show the value under the pointer"


def test_opens_with_the_comparison_by_bonus(grid: GridFolder, page: Any) -> None:
    page.wait("document.querySelectorAll('#comparison .lines').length === 3")
    order = "document.querySelector('#comparison').compareDocumentPosition(document.querySelector('#matrix'))"
    assert page.read(order) == 4, "the comparison precedes the matrix"
    assert page.read("document.querySelector('#comparison h2').textContent") == "Win rate by bonus"
    assert page.read("[...document.querySelectorAll('.lines figcaption span')].map((e) => e.textContent)") == [
        "mean over 2 tasks",
        "MultiRoom-N4-S5",
        "KeyRoom-S5",
    ]
    assert page.read("document.querySelectorAll('.lines.large .curve').length") >= 3
    assert page.read("document.querySelectorAll('.lines.large .band').length") >= 3
    legend = "[...document.querySelectorAll('.legend li')].map((e) => e.textContent)"
    assert [text.rstrip("0123456789.") for text in page.read(legend)] == ["none", "rnd", "e3b", "e3b * rnd"]
    page.click("[data-metric='evaluation/greedy/win_rate']")
    page.wait("document.querySelector('#comparison h2').textContent === 'Evaluation: win rate, greedy by bonus'")
    assert page.read("document.querySelectorAll('.lines .dots').length") >= 7
    assert page.read("document.querySelector('[aria-checked=true]').dataset.metric") == "evaluation/greedy/win_rate"
    # Steps done: 13 trials of 16 finished, one failed at 30 %, one at 50 %.
    widths = {
        name: page.read(f"document.querySelector('.statuses .{name}').style.width") for name in ("finished", "running")
    }
    assert widths == {"finished": "81.25%", "running": "3.125%"}
    assert page.read("document.querySelector('.figures .done b').textContent") == "86 %"


def test_a_failure_never_looks_like_the_best_of_the_bad(grid: GridFolder, page: Any) -> None:
    for trial in grid.trials()[:-1]:
        trial.progress.unlink()
        RowWriter(trial.progress).append(
            {"env_steps": 100_000, "win_rate": 0.05, "episode_return": -0.3, "episodes": 500}
        )
        replace(trial.state(), attempts=1).write(trial.state_file)
    levels = "[...document.querySelectorAll('button.cell.known')].map((e) => e.style.getPropertyValue('--level'))"
    page.wait(f"{levels}.every((level) => level === '5.0%')")
    page.read(
        "(() => { const s = document.querySelector('.tools select'); s.value = 'return';"
        " s.dispatchEvent(new Event('change')); })()"
    )
    page.wait(f"{levels}.every((level) => level === '0.0%')")


def test_one_run_by_itself_shows_its_curves_at_once(
    tmp_path: Path, write_sample_grid: Callable[..., GridFolder], serve: Callable[..., str], browser: Any
) -> None:
    folder = write_sample_grid(tmp_path / "runs" / "one", tasks=("KeyRoom-S5",), bonuses=("none",), seeds=(0,), rows=4)
    trial = folder.trials()[0]
    for row in range(1, 5):
        numbers = {"env_steps": 25_000 * row, "episodes": 40 * row, "win_rate": 0.1 * row, "bonus/mean": 0.0}
        RowWriter(trial.progress).append(numbers | {"entropy": 1.5})
    replace(trial.state(), status="finished", env_steps=100_000, total_env_steps=100_000).write(trial.state_file)
    for width in (1280, 390):
        browser.size(width, 800)
        browser.open(serve(folder.path.parent))
        browser.wait("document.querySelectorAll('#trial:not([hidden]) .chart').length")
        browser.wait("document.querySelectorAll('.lines.large .curve').length === 1")
        assert browser.read("getComputedStyle(document.querySelector('#matrix')).display") == "none"
        assert browser.read("document.querySelector('[data-column=\"bonus/mean\"]')") is None, "zero throughout"
        assert browser.read("!!document.querySelector('[data-column=entropy]')")
        assert browser.read("document.documentElement.scrollWidth") <= width
        assert browser.complaints == []


def test_shows_why_a_trial_failed_and_closes_by_key(grid: GridFolder, page: Any) -> None:
    failed = grid.trials()[-3].id
    page.click(".lists .failed button")
    page.wait("document.querySelector('#trial .problem pre')?.textContent.includes('environment 3 is not finite')")
    assert page.read("document.activeElement.tagName") == "H2"
    page.press("Escape")
    page.wait("document.querySelector('#trial').hidden")
    assert page.read("document.activeElement.dataset.id") == failed


def test_works_with_keys_alone(grid: GridFolder, page: Any) -> None:
    first = grid.trials()[0].id
    page.read(f"document.querySelector('{cell(first)}').focus()")
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowUp", "ArrowUp", "ArrowDown"):
        page.press(key)
    here = page.read("document.activeElement.dataset.id")
    assert here == "KeyRoom-S5__rnd__c-inf__s0"
    assert page.read("document.querySelectorAll('.matrix [tabindex=\"0\"]').length") == 1
    page.press("Enter")
    page.wait(f"{OPEN_TITLE} === 'KeyRoom-S5'")
    assert page.read("location.hash").endswith(here)


def test_changes_on_disk_appear(grid: GridFolder, page: Any, write_sample_grid: Callable[..., GridFolder]) -> None:
    running = grid.trials()[-2]
    page.click(cell(running.id))
    page.wait("document.querySelectorAll('.chart').length")
    assert page.read(CURVE.format("win_rate")).count("L") == 4
    RowWriter(running.progress).append({"env_steps": 100_000, "win_rate": 1.0, "rooms": 7.0})
    replace(running.state(), status="finished", env_steps=100_000).write(running.state_file)
    page.wait(f"document.querySelector('{cell(running.id)}').classList.contains('finished')")
    page.wait(f"{CURVE.format('win_rate')}.split('L').length === 6 && !!document.querySelector('[data-column=rooms]')")
    assert page.read(f"document.querySelector('{cell(running.id)} .value').textContent") == "1.0"

    grid.path.rename(grid.path.with_name("aside"))
    page.wait("document.querySelector('#notice').textContent.includes('no longer exists')")
    write_sample_grid(grid.path, tasks=("Corridor-R5",), seeds=(0,), rows=2)
    page.wait("document.querySelector('.matrix .name').textContent === 'Corridor-R5'")
    page.wait("document.querySelector('#notice').hidden")
    assert page.read("document.querySelectorAll('button.cell').length") == 4
    # The browser rightly complains about the answers in between.
    page.complaints[:] = [text for text in page.complaints if "409" not in text]


def test_sends_no_requests_while_hidden(page: Any) -> None:
    page.wait("document.querySelectorAll('.lines .curve').length")  # the first answers have arrived
    hide = "Object.defineProperty(document, 'hidden', {value: %s, configurable: true})"
    page.read(f"{hide % 'true'}; document.dispatchEvent(new Event('visibilitychange')); 0")
    assert page.read("document.querySelector('#live').textContent") == "paused"
    asked = "performance.getEntriesByType('resource').filter((e) => e.name.includes('/api/')).length"
    before = page.read(asked)
    page.read("new Promise((done) => setTimeout(done, 2500))")
    assert page.read(asked) == before
    page.read(f"{hide % 'false'}; document.dispatchEvent(new Event('visibilitychange')); 0")
    page.wait(f"{asked} > {before} && document.querySelector('#live').textContent === 'live'")


def test_fits_phone_and_desktop_in_light_and_dark(page: Any) -> None:
    for width, dark in product((390, 1280), (False, True)):
        phone = width < 500
        page.size(width, 844, dark)
        page.wait(f"document.documentElement.clientWidth <= {width}")
        assert page.read("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
        ground = page.read("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
        assert (max(ground) < 60) == dark
        stacked = page.read("getComputedStyle(document.querySelector('.matrix')).flexDirection") == "column"
        assert stacked == phone
        page.click("button.cell.finished")
        page.wait("!document.querySelector('#trial').hidden && document.querySelectorAll('.chart').length")
        left, right = (page.read(f"document.querySelector('#trial').getBoundingClientRect().{side}") for side in SIDES)
        assert right <= width
        assert (left == 0) == phone, "on a phone the trial covers the page"
        page.press("Escape")
        page.wait("document.querySelector('#trial').hidden")


def test_lists_several_grids(grid: GridFolder, page: Any, write_sample_grid: Callable[..., GridFolder]) -> None:
    write_sample_grid(grid.path.with_name("other <i>grid"), tasks=("Corridor-R5",), seeds=(0,), rows=2)
    address = page.read("location.origin")
    page.open(f"{address}/")
    page.wait("document.querySelectorAll('.card').length === 2")
    assert "other <i>grid" in page.read("document.querySelector('#index').innerText")
    page.click(".card:first-child a")
    page.wait("document.querySelectorAll('button.cell').length === 4")
    assert page.read("document.querySelector('#grids').value") == "other <i>grid"
