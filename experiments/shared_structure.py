"""How much structure contexts share: the average cosine similarity of V*_{ψ,c}, and the bonus it predicts.

    python experiments/shared_structure.py [TASK …] [--features position,message] [--contexts 1,3,5,10,inf]
                                           [--out DIR] [--quick] [--seed N] [--results PATH]

Writes index.html, similarity.csv, readings.csv, prediction.csv and figures/ (PNG, SVG). Nothing is trained: values of
positions come from graph search with NetHack's movement rules, values of messages from playing the game.
"""

from __future__ import annotations

import argparse
import platform
import shlex
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from bonuslab.envs.contexts import parse_count
from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.minihack import task as find_task
from bonuslab.experiments.value_functions import figures, page
from bonuslab.experiments.value_functions.advice import parse_features, study_outcomes
from bonuslab.experiments.value_functions.estimates import Estimates
from bonuslab.experiments.value_functions.prediction import (
    Outcome,
    paper_outcomes,
    prediction_against_outcome,
    read_outcomes,
)
from bonuslab.experiments.value_functions.sampling import FULL, QUICK, Sample
from bonuslab.experiments.value_functions.similarity import Similarity, similarities
from bonuslab.platform.cli.tasks import short_name
from bonuslab.platform.pictures.table import print_table
from bonuslab.platform.run.versions import git_commit

TASKS = ("MultiRoom-N6-Lava", "KeyRoom-S10", "Corridor-R5", "MultiRoom-N4-Locked", "MultiRoom-N6-LavaMonsters")
"""Environments of the paper's count tables, in section 3 and the appendix."""
OUT = Path("runs/shared_structure")
PACKAGES = ("bonuslab", "nle", "minihack", "numpy")


def main(argv: Sequence[str] | None = None) -> int:
    """Sample value functions, compare them, and write figures and tables."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        return _study(_parser().parse_args(words), words)
    except InvalidInput as error:
        print(f"shared_structure: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="How much structure contexts share.")
    parser.add_argument("tasks", nargs="*", default=list(TASKS), metavar="TASK", help=f"default: {' '.join(TASKS)}")
    parser.add_argument("--features", default="position,message", metavar="LIST", help="default position,message")
    parser.add_argument("--contexts", default="1,3,5,10,inf", metavar="LIST", help="default 1,3,5,10,inf")
    parser.add_argument("--out", type=Path, default=OUT, metavar="DIR", help=f"default {OUT}")
    parser.add_argument("--quick", action="store_true", help="fewer contexts and episodes: about a minute")
    parser.add_argument("--seed", type=int, default=0, help="random seed of the sampled contexts (default 0)")
    parser.add_argument("--results", type=Path, metavar="PATH", help="training results: a CSV or a grid's folder")
    return parser


def _study(arguments: argparse.Namespace, words: list[str]) -> int:
    started = time.monotonic()
    tasks = list(dict.fromkeys(short_name(find_task(name)) for name in arguments.tasks))
    features = parse_features(arguments.features)
    counts = tuple(dict.fromkeys(parse_count(text) for text in arguments.contexts.split(",") if text.strip()))
    if not counts or arguments.seed < 0:
        raise InvalidInput("--contexts is empty or --seed is negative")
    outcomes = read_outcomes(arguments.results) if arguments.results else study_outcomes()
    folder: Path = arguments.out
    _make(folder)

    def log(line: str) -> None:
        print(f"{time.monotonic() - started:5.0f} s  {line}", flush=True)

    estimates = Estimates(QUICK if arguments.quick else FULL, arguments.seed, log)
    found: dict[tuple[str, str], tuple[Sample, list[Similarity]]] = {}
    for task in tasks:
        for feature in features:
            sample = estimates.sample(task, feature)
            found[task, feature] = sample, similarities(sample.values, counts, arguments.seed)
    rows = [page.similarity_row(sample, one) for sample, several in found.values() for one in several]
    _print(rows)

    log("drawing figures")
    facts = [page.sample_facts(sample, figures.draw(sample, folder / "figures")) for sample, _ in found.values()]
    names = [page.count_text(count) for count in counts]
    figures.draw_similarity({key: several for key, (_, several) in found.items()}, names, folder / "figures")
    readings = [
        {
            "task": task,
            "feature": feature,
            "reading": reading,
            "similarity": (one := similarities(values, (None,), arguments.seed)[0]).value,
            "low": one.low,
            "high": one.high,
        }
        for (task, feature), (sample, _) in found.items()
        for reading, values in sample.readings.items()
    ]
    source = str(arguments.results) if arguments.results else "the count study"
    known = {"the paper’s tables": paper_outcomes(), source: outcomes}
    comparisons = {
        source: prediction_against_outcome(_of(found, given), estimates.similarity) for source, given in known.items()
    }
    origin = {
        "seed": arguments.seed,
        "commit": git_commit() or "unknown",
        "versions": " ".join(
            [f"python {platform.python_version()}", *(f"{name} {version(name)}" for name in PACKAGES)]
        ),
    }
    page.write_csv(folder / "similarity.csv", rows, origin)
    page.write_csv(folder / "readings.csv", readings, origin)
    predictions = [page.comparison_row(source, row) for source, several in comparisons.items() for row in several]
    page.write_csv(folder / "prediction.csv", predictions, origin)
    page.write_page(
        folder / "index.html",
        rows=rows,
        samples=facts,
        readings=readings,
        outcomes=[(source, several) for source, several in comparisons.items() if several],
        command=shlex.join(["python", "experiments/shared_structure.py", *words]),
        seconds=time.monotonic() - started,
        **origin,
    )
    log(f"wrote {folder / 'index.html'}")
    return 0


def _of(found: dict[tuple[str, str], tuple[Sample, list[Similarity]]], outcomes: list[Outcome]) -> list[Outcome]:
    """The outcomes whose value functions were sampled."""
    tasks = {task for task, _ in found}
    return [
        outcome
        for outcome in outcomes
        if (outcome.task, outcome.feature) in found or (not outcome.feature and outcome.task in tasks)
    ]


def _make(folder: Path) -> None:
    try:
        (folder / "figures").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"--out {folder} cannot be written to: {error.strerror or error}") from error


def _print(rows: list[page.Row]) -> None:
    table = [
        (
            row["task"],
            row["feature"],
            row["contexts"],
            f"{row['similarity']:.3f}",
            f"{row['low']:.3f} to {row['high']:.3f}",
            "" if row["paper"] == "" else f"{row['paper']:.3f}",
            "" if row["paper_global"] == "" else f"{row['paper_global']:.2f}",
            row["predicted"],
        )
        for row in rows
    ]
    print_table(("task", "feature", "|C|", "similarity", "95 % interval", "paper", "its global", "predicts"), table)


if __name__ == "__main__":
    sys.exit(main())
