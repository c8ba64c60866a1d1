"""The report of a search: winners, sensitivity of every bonus, all samples and their cost, on one page."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from pathlib import Path

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from bonuslab.platform.report.search_records import RETURN, Sample, read_search
from bonuslab.platform.report.sensitivity import CAPTION, sensitivity
from bonuslab.platform.report.tables import number
from bonuslab.platform.run.folder import GridFolder
from bonuslab.platform.run.progress import duration
from bonuslab.platform.run.state import write_text

TABLE = "search.csv"
"""Every sample and seed."""
_COLUMNS = ("task", "contexts", "bonus", "sample", "settings", "ended", "steps", "value", "return", "CPU time")
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ name }}: search</title><style>{{ css }}</style></head><body><main>
<h1>{{ name }}: what each bonus needs</h1>
<p>{{ samples }} samples for each bonus and task, on seeds {{ seeds }}; scheduler {{ search.scheduler }},
searcher {{ search.searcher }}. Normalisation: {{ search.space.normalise|join(", ") }}; coefficient
{{ search.space.coefficient|join(" to ") }}. Chosen by: {{ objective }}.</p>
<p>Cost: {{ steps }} environment steps, {{ time }} of CPU time{{ ways }}.</p>
<h2>Winners</h2>{{ table(winners) }}
<h2>Sensitivity</h2><p>{{ caption }}</p>
<img alt="{{ caption }}" style="max-width:100%;background:#fff" src="{{ picture }}">
<h2>All samples</h2><p>Means over seeds; <a href="tables/search.csv">search.csv</a> has every seed.</p>
{{ table(tried) }}
</main></body></html>
"""


def write_search_report(folder: GridFolder, out: Path, tell: Callable[[str], None]) -> str:
    """Write the figure and the table to `out`; returns the page's HTML."""
    record = read_search(folder)
    write_text(out / "tables" / TABLE, record.csv())
    figure = sensitivity(record)
    tell(f"drawing {figure.name}")
    figure.save(out / "figures")
    picture = base64.b64encode((out / "figures" / f"{figure.name}.png").read_bytes()).decode()
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    ways = [sample.ended for sample in record.samples]
    return environment.from_string(_PAGE).render(
        name=folder.path.name,
        css=Markup((Path(__file__).parent / "page.css").read_text()),
        search=record.search,
        samples=record.search["samples"],
        seeds=", ".join(map(str, record.search["seeds"])),
        objective=record.objective,
        steps=f"{record.cost['env_steps']:,}",
        time=duration(record.cost["cpu_seconds"]),
        ways="".join(f", {ways.count(way)} {way}" for way in dict.fromkeys(ways)),
        winners=list(record.winners.values()),
        tried=record.samples,
        caption=CAPTION,
        picture=f"data:image/png;base64,{picture}",
        table=_table,
    )


def _table(samples: list[Sample]) -> Markup:
    head = Markup("").join(Markup("<th>{}</th>").format(name) for name in _COLUMNS)
    body = Markup("").join(Markup("<tr>{}</tr>").format(_cells(sample)) for sample in samples)
    return Markup('<div class="wide"><table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>').format(
        head, body
    )


def _cells(sample: Sample) -> Markup:
    found = sample.measured
    settings = " ".join(value if isinstance(value, str) else f"{value:g}" for value in sample.settings.values())
    cells = (
        *sample.place, sample.number, settings, sample.ended, f"{found['env_steps']:,}", _number(found["objective"]),
        _number(found[RETURN]), duration(sum(one.cpu_seconds for one in sample.seeds)),
    )  # fmt: skip
    return Markup("").join(Markup("<td>{}</td>").format(cell) for cell in cells)


def _number(value: float) -> str:
    return "–" if math.isnan(value) else number(value)
