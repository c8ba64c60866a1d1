"""Every bonus: docs/bonuses/NAME.md says how it works, the registry adds scope, parameters, use, code and test."""

from __future__ import annotations

import ast
import inspect
import textwrap
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import get_plugin_logger
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

from bonuslab.algorithms.bonuses import PRESETS, Bonus, parse, registered
from bonuslab.algorithms.bonuses.algebra.base import value_text
from bonuslab.algorithms.bonuses.algebra.terms import elementary
from bonuslab.algorithms.bonuses.algebra.variants import Varying
from bonuslab.platform.cli.bonus_catalogue import description

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "bonuses"
log = get_plugin_logger("bonus pages")
_SCOPES = {
    "episodic": "forgets at the end of an episode",
    "global": "never forgets",
    "combined": "episodic and global parts",
    "none": "no bonus",
}


def on_config(config: MkDocsConfig) -> None:
    """List the bonuses' pages in the navigation, and warn if one is missing or has lost its bonus."""
    names = list(registered())
    for entry in config.nav or []:
        if entry.get("Bonuses") == "bonuses/":
            entry["Bonuses"] = ["bonuses/index.md", *({name: f"bonuses/{name}.md"} for name in names)]
    written = {path.name.removesuffix(".md") for path in FOLDER.glob("*.md")} - {"index"}
    for name in written ^ set(names):
        log.warning(f"docs/bonuses/{name}.md and the registered bonuses do not agree")


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Complete the page of a bonus, and the overview."""
    folder, _, name = page.file.src_uri.removesuffix(".md").rpartition("/")
    if folder != "bonuses":
        return markdown
    if name == "index":
        return markdown.replace("<!-- table -->", overview()).replace("<!-- presets -->", presets())
    return f"{markdown}\n{details(registered()[name])}"


def overview() -> str:
    """A row per bonus."""
    rows = []
    for name, bonus in registered().items():
        shown = description(bonus)
        rows.append(f"| [`{name}`]({name}.md) | {chip(shown['scope'])} | {shown['when']} |")
    return "\n".join(["| bonus | scope | when to use it |", "|---|---|---|", *rows])


def presets(term: str | None = None) -> str:
    """The named expressions, all or those with a term."""
    rows = []
    for preset in PRESETS.values():
        bonus = parse(preset.name)
        if term is None or term in {part.name for part in elementary(bonus)}:
            rows.append(f"| `{preset.name}` | `{preset.expression}` | {chip(bonus.scope)} | {preset.source} |")
    head = ["| name | expression | scope | source |", "|---|---|---|---|"]
    return "\n".join([*head, *rows]) if rows else ""


def details(bonus: type[Bonus]) -> str:
    """What the registry knows of a bonus, as the end of its page."""
    shown = description(bonus)
    module = Path(inspect.getfile(bonus)).resolve().relative_to(ROOT)
    test = Path("tests") / module.with_name(f"test_{module.name}")
    if not (ROOT / test).is_file() and bonus.name != "none":
        log.warning(f"bonus {bonus.name}: {test} does not exist")
    facts = [
        f"| scope | {chip(shown['scope'])} {_SCOPES.get(shown['scope'], '')} |",
        f"| when to use it | {shown['when']} |",
        f"| as listed by `bonuslab bonuses` | {_code(shown['equation'])} |",
        f"| Python | `bl.{bonus.__name__}()` |",
        f"| code | `{module}` |",
        f"| test | `{test if (ROOT / test).is_file() else 'tests/algorithms/bonuses/test_all_bonuses.py'}` |",
    ]
    parts = ["## At a glance\n", "| | |\n|---|---|", *facts]
    parts += ["\n## Parameters\n", parameters(bonus) or "None."]
    if found := presets(bonus.name):
        parts += ["\n## Presets\n", found]
    command = f'bonuslab train MultiRoom-N4-S5 --bonus "{bonus.name}" --serial'
    parts += ["\n## Try it\n", f'```bash\nbonuslab bonuses "{bonus.name}"\n{command}\n```']
    return "\n".join(parts) + "\n"


def parameters(bonus: type[Bonus]) -> str:
    """A row per parameter: default, values, meaning, and the authors' values where they differ."""
    meanings = _field_docs(bonus)
    rows = []
    for item in description(bonus)["parameters"]:
        default = getattr(bonus, item["name"], None)
        varying = isinstance(default, Varying)
        ours = default.ours if varying else default
        others = ", ".join(f"{name}: `{value_text(value)}`" for name, value in default.others) if varying else ""
        kinds = item["type"].replace("|", "\\|")
        rows.append(
            f"| `{item['name']}` | `{value_text(ours)}` | {kinds} | {meanings.get(item['name'], '')} | {others} |"
        )
    if not rows:
        return ""
    head = "| name | default | values | meaning | default with `bonus_variant=` |\n|---|---|---|---|---|"
    return "\n".join([head, *rows])


def chip(scope: str) -> str:
    """A scope in its colour."""
    return f'<span class="scope {scope.split()[0]}">{scope}</span>'


def _field_docs(bonus: type[Bonus]) -> dict[str, str]:
    """The docstrings under the fields of a class."""
    (cls,) = ast.parse(textwrap.dedent(inspect.getsource(bonus))).body
    assert isinstance(cls, ast.ClassDef)
    found = {}
    for field, after in zip(cls.body, cls.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            assert isinstance(field.target, ast.Name)
            found[field.target.id] = " ".join(str(after.value.value).split())
    return found


def _code(text: str) -> str:
    return "<code>" + text.replace("|", "&#124;") + "</code>"
