"""The page in a browser: phone and desktop, light and dark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.needs("chromium")


@pytest.fixture
def show(browser: Any, rich_page: Path) -> Any:
    """`show(width, dark)`: the page in a window of that width."""

    def at(width: int, dark: bool = False) -> Any:
        browser.size(width, 900, dark)
        browser.open(rich_page.as_uri())
        browser.wait("document.readyState === 'complete' && document.querySelectorAll('footer').length === 1")
        return browser

    return at


@pytest.mark.parametrize("width", [390, 1280])
def test_page_fits_its_window(show: Any, width: int) -> None:
    tab = show(width)
    assert tab.read("document.documentElement.scrollWidth") <= width
    # Whatever is wider stands in a box of its own that scrolls.
    wide = """[...document.querySelectorAll('main *, header *')].filter(e =>
        e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.scroll, svg'))
        .map(e => e.outerHTML.slice(0, 80))"""
    assert tab.read(wide) == []
    assert tab.complaints == []


def test_text_in_figures_is_legible_on_a_phone(show: Any) -> None:
    smallest = """Math.min(...[...document.querySelectorAll('.panel svg text')]
        .filter(e => e.checkVisibility()).map(e => {
        const svg = e.closest('svg'); const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
        return parseFloat(getComputedStyle(e).fontSize) * scale; }))"""
    assert show(390).read(smallest) >= 9


def test_key_results_are_visible(show: Any) -> None:
    text = show(1280).read("document.body.innerText")
    assert "20 trials:" in text
    assert "By interquartile mean over 2 tasks: e3b * rnd" in text
    assert "paper 0.87 ± 0.10" in text
    assert "random seed 0" in text


def test_dark_page_has_dark_figures(show: Any) -> None:
    def colours(tab: Any) -> list[str]:
        return tab.read(
            "[getComputedStyle(document.body).backgroundColor,"
            " getComputedStyle(document.querySelector('.panel svg text')).fill]"
        )

    light, dark = colours(show(1280)), colours(show(1280, dark=True))
    assert light == ["rgb(255, 255, 255)", "rgb(28, 32, 36)"]
    assert dark == ["rgb(21, 24, 27)", "rgb(231, 233, 236)"]


def test_tables_have_headers_and_figures_have_text(show: Any) -> None:
    tab = show(1280)
    bare = "[...document.querySelectorAll('tbody tr')].filter(r => !r.querySelector('th[scope=row]')).length"
    assert tab.read(bare) == 0
    assert tab.read("[...document.querySelectorAll('.panel svg')].filter(s => !s.ariaLabel).length") == 0
    assert tab.read("document.querySelectorAll('h1').length") == 1


def test_tables_can_be_downloaded_from_the_page(show: Any) -> None:
    tab = show(1280)
    text = tab.read("fetch(document.querySelector('a[download=\"tasks.csv\"]').href).then(r => r.text())")
    assert text.startswith("task,bonus,runs,planned,win_rate mean,std,env_steps\n")
