"""Pages that live beside what they describe, such as experiments/results/README.md, as pages of the site."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
PAGES = {
    "DEVIATIONS.md": "DEVIATIONS.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "experiments/results/README.md": "results/README.md",
    "deploy/README.md": "guides/clusters.md",
    "deploy/monitoring/README.md": "guides/monitoring.md",
    "envs/habitat/README.md": "environments/houses.md",
}
"""Page of the repository -> page of the site."""
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
_FENCE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
_SHOWN = (".png", ".svg", ".gif", ".mp4", ".csv", ".md")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages, and the pictures and tables that they link to."""
    for source, target in PAGES.items():
        linked: dict[str, str] = {}
        text = page(source, target, linked)
        files.append(File.generated(config, target, content=text))
        for name, path in linked.items():
            if name not in files.src_uris:
                files.append(File.generated(config, name, abs_src_path=str(ROOT / path)))
    return files


def page(source: str, target: str, linked: dict[str, str]) -> str:
    """The text of a page with its links as the site has them; adds the files it needs to `linked`."""

    def link(match: re.Match[str]) -> str:
        picture, words, address = match.groups()
        place, _, anchor = address.partition("#")
        if not place or "://" in address:
            return match[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), place))
        name = _place_in_site(path, source, target)
        if name is None:  # a file of the repository that is no page
            return f"{words} (`{path}`)" if words.strip("`/") not in path else f"`{path}`"
        if path not in PAGES and not path.startswith("docs/"):
            linked[name] = path
        relative = posixpath.relpath(name, posixpath.dirname(target) or ".")
        return f"{picture}[{words}]({relative}{'#' + anchor if anchor else ''})"

    parts = _FENCE.split((ROOT / source).read_text())
    return "".join(part if part.startswith("```") else _LINK.sub(link, part) for part in parts)


def _place_in_site(path: str, source: str, target: str) -> str | None:
    """Where a file of the repository is in the site; None if it is not."""
    if path in PAGES:
        return PAGES[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    beside = posixpath.dirname(source)
    if path.endswith(_SHOWN) and beside and path.startswith(f"{beside}/") and (ROOT / path).is_file():
        return posixpath.join(posixpath.dirname(target), path.removeprefix(f"{beside}/"))
    return None
