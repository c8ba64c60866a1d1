"""The bonus that the paper's framework predicts for a task, in sentences and as JSON, for `bonuslab advise`."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bonuslab.envs.errors import InvalidInput, unknown
from bonuslab.experiments.count_tables.rows import bonus_text
from bonuslab.experiments.value_functions.estimates import Estimates
from bonuslab.experiments.value_functions.paper_similarity import PaperSimilarity, nearest
from bonuslab.experiments.value_functions.prediction import (
    EPISODIC_BELOW,
    GLOBAL_FROM,
    SCOPES,
    Comparison,
    Outcome,
    Scope,
    predict,
    prediction_against_outcome,
    read_outcomes,
)
from bonuslab.experiments.value_functions.sampling import FEATURES, QUICK, Sample
from bonuslab.experiments.value_functions.similarity import Similarity

RESULTS = Path(__file__).parents[1] / "results" / "count_study-laptop"
"""Results of the largest count study; the other scales trained parts of it."""

_REASONS: dict[Scope, str] = {
    "global": (
        "Values hardly differ between contexts, so what a global bonus learns in one context is useful in all of them."
    ),
    "episodic": (
        "Values differ between contexts, so a global bonus is already used up in places that later contexts make "
        "valuable; an episodic bonus resets every episode."
    ),
    "combined": (
        "Contexts share part of their structure: at similar values the paper's global bonus worked on some seeds and "
        "failed on others, so the product of both is the safe choice."
    ),
}


def print_advice(
    task: str, contexts: int | None, features: list[str], results: Path | None, seed: int, as_json: bool
) -> None:
    """Sample contexts of the task, predict the bonus of each feature and print it."""
    outcomes = read_outcomes(results) if results else study_outcomes()
    estimates = Estimates(QUICK, seed, lambda line: print(line, file=sys.stderr))
    found = {name: (estimates.sample(task, name), estimates.similarity(task, name, contexts)) for name in features}
    here = [item for item in outcomes if item.task == task and item.feature in ("", *features)]
    rows = prediction_against_outcome(here, estimates.similarity)
    if as_json:
        print(json.dumps(_as_json(task, contexts, found, rows), indent=1))
    else:
        source = str(results) if results else "win rates of the count study"
        print("\n".join(_sentences(task, contexts, found, rows, source)))


def parse_features(text: str) -> list[str]:
    """The features of a comma-separated list."""
    features = [name.strip() for name in text.split(",") if name.strip()]
    for name in features:
        if name not in FEATURES:
            raise unknown("feature", name, FEATURES)
    if not features:
        raise InvalidInput(f"no feature given; allowed: {', '.join(FEATURES)}")
    return list(dict.fromkeys(features))


def study_outcomes(folder: Path = RESULTS) -> list[Outcome]:
    """The count study's outcomes; other CSV files are skipped."""
    outcomes: list[Outcome] = []
    for path in sorted(folder.rglob("*.csv")):
        try:
            outcomes += read_outcomes(path)
        except InvalidInput:
            continue
    return outcomes


def contexts_text(contexts: int | None) -> str:
    """A number of contexts in words."""
    return "infinitely many contexts" if contexts is None else f"{contexts} context{'s' if contexts > 1 else ''}"


def _sentences(
    task: str,
    contexts: int | None,
    found: dict[str, tuple[Sample, Similarity]],
    rows: list[Comparison],
    source: str,
) -> list[str]:
    lines = [f"{task}, {contexts_text(contexts)}"]
    for feature, (sample, similarity) in found.items():
        scope = predict(similarity)
        lines += [
            "",
            f"Counting {feature}s: similarity {similarity.value:.3f} "
            f"(95 % interval {similarity.low:.3f} to {similarity.high:.3f}) → {scope} bonus",
            f"  {_REASONS[scope]}",
            f'  Try --bonus "{bonus_text(scope, feature)}". {_nearest_sentence(nearest(similarity.value))}',
            f"  {_how_sentence(sample, similarity)}",
        ]
    lines += [
        "",
        f"An interval above {GLOBAL_FROM:.2f} predicts global, one below {EPISODIC_BELOW:.2f} episodic, any other "
        "combined; the thresholds lie half-way between the paper's settings where the better bonus changes.",
        "For learned features, whose similarity is not known in advance, the paper recommends the product, such as "
        "e3b * rnd.",
    ]
    if rows:
        lines += ["", f"Prediction and outcome ({source}):"]
        lines += [f"  {_outcome_sentence(row)}" for row in rows]
    return lines


def _nearest_sentence(row: PaperSimilarity) -> str:
    returns = [f"{scope} {value:.2f}" for scope in SCOPES if (value := row.mean_return(scope)) is not None]
    return (
        f"The paper's nearest setting is {row.task}, {row.feature}s, |C| = {row.contexts}, "
        f"similarity {row.similarity:.3f}; its returns: {', '.join(returns)}."
    )


def _how_sentence(sample: Sample, similarity: Similarity) -> str:
    text = f"From {len(sample.contexts)} contexts: {sample.how}"
    if sample.coverage is not None:
        text += f", {sample.coverage.episodes:,} episodes, {sample.coverage.tried:.0%} of (state, action) pairs tried"
    if sample.left_out:
        text += f", {sample.left_out} contexts left out"
    if similarity.runs is not None:
        low, high = similarity.runs
        text += f". Single runs with {contexts_text(similarity.contexts)} each lie between {low:.2f} and {high:.2f}"
    return f"{text}."


def _outcome_sentence(row: Comparison) -> str:
    rates = ", ".join(f"{scope} {rate:.2f}" for scope, rate in row.win_rates.items())
    verdict = {True: "as predicted", False: "not as predicted", None: "undecided"}[row.agrees]
    return (
        f"{row.feature}s, {contexts_text(row.contexts)}: similarity {row.similarity.value:.2f} → {row.predicted}; "
        f"{rates}: {verdict}"
    )


def _as_json(
    task: str, contexts: int | None, found: dict[str, tuple[Sample, Similarity]], rows: list[Comparison]
) -> dict[str, Any]:
    return {
        "task": task,
        "contexts": "inf" if contexts is None else contexts,
        "thresholds": {"global_from": GLOBAL_FROM, "episodic_below": EPISODIC_BELOW},
        "features": [
            {
                "feature": feature,
                "similarity": similarity.value,
                "low": similarity.low,
                "high": similarity.high,
                "single_runs": similarity.runs,
                "predicted": (scope := predict(similarity)),
                "bonus": bonus_text(scope, feature),
                "how": sample.how,
                "sampled_contexts": len(sample.contexts),
                "left_out": sample.left_out,
                "coverage": None if sample.coverage is None else asdict(sample.coverage),
            }
            for feature, (sample, similarity) in found.items()
        ],
        "outcomes": [
            {
                "contexts": "inf" if row.contexts is None else row.contexts,
                "feature": row.feature,
                "similarity": row.similarity.value,
                "predicted": row.predicted,
                "best": row.best,
                "win_rates": dict(row.win_rates),
                "agrees": row.agrees,
            }
            for row in rows
        ],
    }
