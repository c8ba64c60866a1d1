"""`bonuslab advise`: which bonus the paper's framework predicts for a task, from how much structure contexts share."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bonuslab.envs.contexts import parse_count
from bonuslab.envs.errors import InvalidInput, unknown
from bonuslab.envs.minihack import task as find_task
from bonuslab.experiments.value_functions.estimates import Estimates
from bonuslab.experiments.value_functions.paper_similarity import PaperSimilarity, nearest
from bonuslab.experiments.value_functions.prediction import (
    EPISODIC_BELOW,
    GLOBAL_FROM,
    Comparison,
    Outcome,
    Scope,
    predict,
    prediction_against_outcome,
    read_outcomes,
)
from bonuslab.experiments.value_functions.sampling import FEATURES, QUICK, Sample
from bonuslab.experiments.value_functions.similarity import Similarity
from bonuslab.platform.cli.tasks import short_name

RESULTS = Path(__file__).parent / "results" / "count_study-laptop"
"""Where the largest count study keeps its outcome; the others have trained parts of it."""

_BONUSES = {
    "global": "count.global({0})",
    "episodic": "count.episodic({0})",
    "combined": "count.episodic({0}) * count.global({0})",
}
_REASONS: dict[Scope, str] = {
    "global": (
        "Values hardly change from one context to the next, so what a global bonus has found to be worth visiting "
        "is worth visiting everywhere."
    ),
    "episodic": (
        "Values change from one context to the next, so a global bonus is used up in places that later contexts make "
        "valuable; an episodic one starts afresh in every episode."
    ),
    "combined": (
        "Contexts share a part of their structure: near here the paper's global bonus worked on some seeds and failed "
        "on others, so the product of both is the safe choice."
    ),
}


class AdviseCommand:
    """See `help`."""

    help = "predict from shared structure whether a global, episodic or combined bonus suits a task"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the command's arguments."""
        parser.add_argument("task", help="a MiniHack task of `bonuslab tasks`")
        parser.add_argument("--contexts", default="inf", metavar="N", help="number of contexts, or inf (default)")
        parser.add_argument(
            "--features",
            default=",".join(FEATURES),
            metavar="LIST",
            help=f"what is counted (default {','.join(FEATURES)})",
        )
        parser.add_argument("--results", type=Path, metavar="PATH", help="CSV or grid folder with outcomes of training")
        parser.add_argument("--seed", type=int, default=0, help="of the sampled contexts (default 0)")
        parser.add_argument("--json", action="store_true", help="print JSON instead of sentences")

    def run(self, arguments: Namespace) -> int:
        """Sample, predict and print."""
        task, contexts = short_name(find_task(arguments.task)), parse_count(arguments.contexts)
        features = parse_features(arguments.features)
        if arguments.seed < 0:
            raise InvalidInput(f"--seed {arguments.seed} cannot be used; it must be 0 or more")
        outcomes = read_outcomes(arguments.results) if arguments.results else study_outcomes()
        estimates = Estimates(QUICK, arguments.seed, lambda line: print(line, file=sys.stderr))
        found = {name: (estimates.sample(task, name), estimates.similarity(task, name, contexts)) for name in features}
        here = [item for item in outcomes if item.task == task and item.feature in ("", *features)]
        rows = prediction_against_outcome(here, estimates.similarity)
        if arguments.json:
            print(json.dumps(_as_json(task, contexts, found, rows), indent=1))
        else:
            source = str(arguments.results) if arguments.results else "win rates of the count study"
            print("\n".join(_sentences(task, contexts, found, rows, source)))
        return 0


def parse_features(text: str) -> list[str]:
    """The features of a list with commas."""
    features = [name.strip() for name in text.split(",") if name.strip()]
    for name in features:
        if name not in FEATURES:
            raise unknown("feature", name, FEATURES)
    if not features:
        raise InvalidInput(f"no feature is named; allowed: {', '.join(FEATURES)}")
    return list(dict.fromkeys(features))


def study_outcomes(folder: Path = RESULTS) -> list[Outcome]:
    """The outcomes that the count study has kept; files of other kinds are passed over."""
    outcomes: list[Outcome] = []
    for path in sorted(folder.rglob("*.csv")):
        try:
            outcomes += read_outcomes(path)
        except InvalidInput:
            continue
    return outcomes


def recommended_bonus(scope: Scope, feature: str) -> str:
    """The count bonus of a scope, as `bonuslab train --bonus` takes it."""
    return _BONUSES[scope].format(feature)


def contexts_text(contexts: int | None) -> str:
    """In words."""
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
            f'  Try --bonus "{recommended_bonus(scope, feature)}". {_nearest_sentence(nearest(similarity.value))}',
            f"  {_how_sentence(sample, similarity)}",
        ]
    lines += [
        "",
        f"An interval above {GLOBAL_FROM:.2f} predicts global, one below {EPISODIC_BELOW:.2f} episodic, any other "
        "combined: half-way between the paper's settings on which its own results change sides.",
        "For learned features, whose similarity nobody can compute beforehand, the paper's answer is the product, "
        "such as e3b * rnd.",
    ]
    if rows:
        lines += ["", f"Prediction against outcome ({source}):"]
        lines += [f"  {_outcome_sentence(row)}" for row in rows]
    return lines


def _nearest_sentence(row: PaperSimilarity) -> str:
    returns = [f"{scope} {value:.2f}" for scope in _BONUSES if (value := row.mean_return(scope)) is not None]
    return (
        f"The paper's nearest setting, {row.task} with {row.feature}s and |C| = {row.contexts}, "
        f"has {row.similarity:.3f}: {', '.join(returns)}."
    )


def _how_sentence(sample: Sample, similarity: Similarity) -> str:
    text = f"From {len(sample.contexts)} contexts: {sample.how}"
    if sample.coverage is not None:
        text += f", {sample.coverage.episodes:,} episodes, {sample.coverage.tried:.0%} of what can be done tried"
    if sample.left_out:
        text += f", {sample.left_out} contexts left out"
    if similarity.runs is not None:
        low, high = similarity.runs
        text += (
            f". Single runs, each with {contexts_text(similarity.contexts)} of its own, lie between {low:.2f} and "
            f"{high:.2f}"
        )
    return f"{text}."


def _outcome_sentence(row: Comparison) -> str:
    rates = ", ".join(f"{scope} {rate:.2f}" for scope, rate in row.win_rates.items())
    verdict = {True: "as predicted", False: "not as predicted", None: "does not decide"}[row.agrees]
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
                "bonus": recommended_bonus(scope, feature),
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
