"""`bonuslab bonuses`: the list, the explanation of one expression, plugins, and errors with status 2."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bonuslab.algorithms.bonuses import PRESETS, Setting, parse, registered
from bonuslab.algorithms.bonuses.algebra import registry as registry_module
from bonuslab.algorithms.data.synthetic import NUM_ACTIONS, OBSERVATION_SPACE, Trajectory
from bonuslab.platform.cli.main import main

README = Path(__file__).parents[3] / "algorithms" / "bonuses" / "README.md"


def ours() -> list[str]:
    return [name for name, bonus in registered().items() if bonus.__module__.startswith("bonuslab.")]


def test_the_list_names_every_bonus_and_preset(capsys):
    assert main(["bonuses"]) == 0
    text = capsys.readouterr().out
    for name in ours():
        assert re.search(rf"^  {re.escape(name)}   \[(global|episodic|combined|none)\]$", text, re.MULTILINE), name
        assert registered()[name].equation.split()[0] in text
    for name, preset in PRESETS.items():
        assert name in text
        assert preset.expression in text
    assert "\x1b" not in text
    assert all(line == line.rstrip() for line in text.splitlines())


def test_the_list_as_json(capsys):
    assert main(["bonuses", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert {bonus["name"] for bonus in answer["bonuses"]} >= set(ours())
    e3b = next(bonus for bonus in answer["bonuses"] if bonus["name"] == "e3b")
    assert e3b["scope"] == "episodic"
    assert {"name": "ridge", "type": "number", "default": 0.1} in e3b["parameters"]
    assert [preset["name"] for preset in answer["presets"]] == list(PRESETS)


def test_one_expression_is_explained(capsys):
    assert main(["bonuses", "2*e3b_x_rnd", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["expression"] == "2 * e3b * rnd"
    assert answer["scope"] == "combined"
    assert (answer["episodic_part"], answer["global_part"]) == ("2 * e3b", "2 * rnd")
    assert [term["term"] for term in answer["terms"]] == ["e3b", "rnd"]
    assert main(["bonuses", "2*e3b_x_rnd"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("2 * e3b * rnd   [combined]\n")
    assert "encoder = inverse   (inverse | random | policy | atari)" in text
    assert "convention = reference, habitat: paper   (reference | paper)" in text
    assert "means reference, but paper with --set bonus_variant=habitat" in text


def test_shared_networks_are_named(capsys):
    assert main(["bonuses", "e3b * ngu + rnd * noveld", "--json"]) == 0
    users = json.loads(capsys.readouterr().out)["shared_networks"].values()
    assert ["e3b", "ngu"] in users
    assert ["rnd", "noveld"] in users


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["e3b(rigde=1)"], "did you mean ridge?"),
        (["e3b ** rnd"], "powers are not supported"),
        (["e3c"], "did you mean e3b"),
        (["--plugin", "/no/such/file.py"], "is not a file"),
    ],
)
def test_mistakes_end_with_status_2(words, complaint, capsys):
    assert main(["bonuses", *words]) == 2
    answer = capsys.readouterr()
    assert complaint in answer.err
    assert answer.out == ""


@pytest.mark.parametrize(
    ("expression", "term"),
    [
        ("rnd_montezuma", "rnd(networks=atari, keep=0.0625)"),
        ("noveld(episodic=true, feature=glimpse)", "noveld(episodic=true, feature=glimpse)"),
        ("count.global(room) * e3b", "count.global(feature=room)"),
    ],
)
def test_bonuses_for_pictures_are_explained_without_an_example(expression, term, capsys):
    assert main(["bonuses", expression]) == 0
    text = capsys.readouterr().out
    assert f"\n  {term}   [" in text
    assert "\nno worked example with MiniHack's observations: " in text


def test_words_are_listed(capsys):
    assert main(["bonuses"]) == 0
    (line,) = {
        line.strip() for line in capsys.readouterr().out.splitlines() if line.strip().startswith("feature = pos")
    }
    for word in ("position", "message", "glyphs", "observation"):
        assert f" {word} " in line.replace("(", " ").replace(")", " ")
    assert main(["presets", "laptop", "--algorithm", "impala"]) == 0
    assert "optimiser of the policy (rmsprop | adam)" in capsys.readouterr().out


def example(expression: str, capsys) -> dict[str, list[float]]:
    assert main(["bonuses", expression, "--json"]) == 0
    return json.loads(capsys.readouterr().out)["example"]["bonus"]


def test_the_worked_example_shows_what_a_scope_means(capsys):
    # Cells 1 2 3 2 1 0: three are new, and 0 is where the episode starts.
    found = example("count.episodic(position)", capsys)
    assert found == {episode: [1, 1, 1, 0, 0, 0] for episode in ("1", "2", "20")}
    visits = {1: (1, 1, 1, 2, 2, 2), 2: (3, 3, 2, 4, 4, 4)}
    found = example("count.global(position)", capsys)
    for episode, counts in visits.items():
        assert found[str(episode)] == pytest.approx([count**-0.5 for count in counts], rel=1e-2)
    assert example("none", capsys)["20"] == [0] * 6
    assert main(["bonuses", "e3b(encoder=policy) * rnd"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-5].startswith("worked example")
    assert [line.split()[0] for line in lines[-4:]] == ["to", *["episode"] * 3]


def test_a_mistake_in_a_plugin_is_named_with_its_line(tmp_path, capsys, fresh_registries):
    path = tmp_path / "mine.py"
    text = "import bonuslab as bl\n\n@bl.bonus('broken', scope='global')\ndef f(step):\n    return step.nothing\n"
    path.write_text(text)
    assert main(["bonuses", "broken", "--plugin", str(path)]) == 0
    assert f"bonus 'broken' ({path}:3), line 5: AttributeError" in capsys.readouterr().out


def readme_example() -> str:
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    (example,) = [block for block in blocks if "@bl.bonus" in block]
    return example


def test_the_readme_example_runs_as_a_plugin(tmp_path):
    (tmp_path / "my_bonus.py").write_text(readme_example())
    command = [sys.executable, "-m", "bonuslab.platform.cli.main", "bonuses", "--plugin", "my_bonus.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "\n  distance   [episodic]\n" in done.stdout


def test_the_readme_example_works(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(registry_module, "_BONUSES", dict(registry_module._BONUSES))
    path = tmp_path / "my_bonus.py"
    path.write_text(readme_example())
    assert main(["bonuses", "--plugin", str(path), "distance(power=2) * rnd", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["expression"] == "distance(power=2) * rnd"
    assert answer["episodic_part"] == "distance(power=2)"

    def run(lengths: list[int]) -> np.ndarray:
        bonus = parse("distance").build(Setting(OBSERVATION_SPACE, NUM_ACTIONS, network="small"))
        return np.concatenate([bonus.compute(fragment) for fragment in Trajectory(2, 40, seed=1).cut(lengths)])

    assert run([40]).max() > 1
    np.testing.assert_array_equal(run([40]), run([1, 12, 27]))
