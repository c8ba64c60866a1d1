"""The study's page and tables: index.html, similarity.csv, readings.csv and prediction.csv."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from bonuslab.experiments.value_functions.game_states import KICK_BREAKS, PUSH_OPENS
from bonuslab.experiments.value_functions.optimal_values import DISCOUNT
from bonuslab.experiments.value_functions.paper_similarity import PAPER, paper_similarity
from bonuslab.experiments.value_functions.prediction import (
    EPISODIC_BELOW,
    GLOBAL_FROM,
    SCOPES,
    TOLERANCE,
    Comparison,
    predict,
)
from bonuslab.experiments.value_functions.sampling import Sample
from bonuslab.experiments.value_functions.similarity import Similarity
from bonuslab.platform.cli.tasks import short_name
from bonuslab.platform.report.page import HERE as REPORT

Row = dict[str, Any]


def similarity_row(sample: Sample, similarity: Similarity) -> Row:
    """One row of similarity.csv."""
    task, contexts = short_name(sample.task), count_text(similarity.contexts)
    paper = paper_similarity(task, sample.feature, contexts)
    setting = (task, sample.feature, contexts)
    returns = [row.mean_return("global") for row in PAPER if (row.task, row.feature, row.contexts) == setting]
    return {
        "task": task,
        "feature": sample.feature,
        "contexts": contexts,
        "similarity": similarity.value,
        "low": similarity.low,
        "high": similarity.high,
        "run_low": "" if similarity.runs is None else similarity.runs[0],
        "run_high": "" if similarity.runs is None else similarity.runs[1],
        "predicted": predict(similarity),
        "paper": "" if paper is None else paper,
        "paper_global": returns[0] if returns and returns[0] is not None else "",
        "sampled_contexts": len(sample.contexts),
        "left_out": sample.left_out,
        **coverage_facts(sample),
    }


def coverage_facts(sample: Sample) -> Row:
    """Episodes, steps, and how much of the game they covered; blank if nothing was played."""
    if sample.coverage is None:
        return dict.fromkeys(("episodes", "steps", "tried", "late_share"), "")
    return asdict(sample.coverage)


def sample_facts(sample: Sample, picture: str) -> Row:
    """A sample's entry on the page."""
    return {
        "task": short_name(sample.task),
        "feature": sample.feature,
        "how": sample.how,
        "contexts": len(sample.contexts),
        "left_out": sample.left_out,
        "size": sample.values.shape[1],
        "picture": picture,
        "has_plans": bool(sample.plans),
        **coverage_facts(sample),
    }


def comparison_row(source: str, row: Comparison) -> Row:
    """One row of prediction.csv."""
    return {
        "outcomes_of": source,
        "task": row.task,
        "feature": row.feature,
        "contexts": count_text(row.contexts),
        "similarity": row.similarity.value,
        "low": row.similarity.low,
        "high": row.similarity.high,
        "predicted": row.predicted,
        "best": row.best,
        **{scope: row.win_rates.get(scope, "") for scope in ("none", *SCOPES)},
        "agrees": "" if row.agrees is None else row.agrees,
    }


def count_text(contexts: int | None) -> str:
    """A number of contexts as in `--contexts`."""
    return "inf" if contexts is None else str(contexts)


def write_csv(path: Path, rows: Sequence[Row], further: Mapping[str, Any]) -> None:
    """Write rows, each with its provenance."""
    columns = list(rows[0]) if rows else []
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*columns, *further])
        writer.writeheader()
        writer.writerows({**row, **further} for row in rows)


def write_page(path: Path, **facts: Any) -> None:
    """Write the page."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    text = environment.get_template("page.html").render(
        css=Markup((REPORT / "page.css").read_text()),
        scopes=SCOPES,
        discount=DISCOUNT,
        global_from=GLOBAL_FROM,
        episodic_below=EPISODIC_BELOW,
        tolerance=TOLERANCE,
        push=PUSH_OPENS,
        kick=KICK_BREAKS,
        **facts,
    )
    path.write_text(text)
