"""The site as `make docs` builds it: no warning, no broken link, nothing from the network, a page for every bonus."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from bonuslab.algorithms.bonuses import registered
from bonuslab.algorithms.catalogue import ALGORITHMS, find
from bonuslab.platform.run.zoo import entries

ROOT = Path(__file__).parents[2]
LOADED = {"script": "src", "img": "src", "iframe": "src", "link": "href"}
"""What a page loads by itself, unlike a link that somebody may follow."""


class Page(HTMLParser):
    """Links, loaded files and anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.anchors: set[str] = set()
        self.text = path.read_text()
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.anchors |= {value for key in ("id", "name") if (value := found.get(key))}
        if tag == "a" and (address := found.get("href")):
            self.links.add(address)
        if tag in LOADED and (address := found.get(LOADED[tag])):
            self.loaded.add(address)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in site.rglob("*.html")}


def test_links_lead_somewhere(site: Path, pages: dict[Path, Page]) -> None:
    assert len(pages) > 40
    broken = []
    for path, page in pages.items():
        for address in page.links | page.loaded:
            parts = urlsplit(address)
            if parts.scheme or path.name == "404.html":
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            anchors = pages[target].anchors if target in pages else set()
            if not target.is_file() or (parts.fragment and target in pages and unquote(parts.fragment) not in anchors):
                broken.append(f"{path.relative_to(site)}: {address}")
    assert broken == []


def test_pages_load_nothing_from_the_network(site: Path, pages: dict[Path, Page]) -> None:
    assert {address for page in pages.values() for address in page.loaded if urlsplit(address).netloc} == set()
    for sheet in site.rglob("*.css"):
        assert "url(http" not in sheet.read_text()
        assert "@import" not in sheet.read_text()


@pytest.mark.usefixtures("fresh_registries")
def test_every_bonus_has_a_page_with_its_equation_and_test(site: Path, pages: dict[Path, Page]) -> None:
    for name, bonus in registered().items():
        text = pages[site / "bonuses" / f"{name}.html"].text
        assert "<math" in text
        assert "arithmatex" not in text
        assert f"bl.{bonus.__name__}()" in text
        assert "tests/algorithms/bonuses/test_" in text
        assert name == "none" or "Paper." in text


def test_every_preset_is_listed(site: Path, pages: dict[Path, Page]) -> None:
    text = pages[site / "reference" / "presets.html"].text
    for entry in map(find, ALGORITHMS):
        for preset in entry.presets:
            assert f"{preset} ({entry.name})" in text


def test_every_agent_is_listed(pages: dict[Path, Page], site: Path) -> None:
    for name in entries():
        assert name in pages[site / "zoo.html"].text


@pytest.mark.needs("chromium")
def test_it_opens_from_a_folder_and_can_be_searched(site: Path, tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("browser", ROOT / "tests" / "platform" / "board" / "browser.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    tab = module.Browser(tmp_path)
    try:
        for width in (1400, 390):
            tab.size(width, 900)
            tab.open(f"file://{site}/bonuses/e3b.html")
            tab.wait("document.readyState == 'complete' && !!document.querySelector('math')")
            assert tab.read("document.documentElement.scrollWidth") <= width
        tab.size(1400, 900)
        tab.click("[data-md-component=search-query]")
        tab.send("Input.insertText", text="elliptical")
        tab.press("ArrowDown")
        tab.wait("/matching/.test(document.querySelector('.md-search-result__meta').innerText)")
        assert tab.complaints == []
    finally:
        tab.close()
