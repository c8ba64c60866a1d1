"""Bonuses from functions and classes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch

from bonuslab.algorithms.bonuses import Bonus, Setting, parse, registered
from bonuslab.algorithms.bonuses.algebra.terms import Terms
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.data.synthetic import NUM_ACTIONS, OBSERVATION_SPACE, Trajectory, next_state_at, state_at
from bonuslab.algorithms.extensions import Step, bonus
from bonuslab.envs.errors import InvalidInput

HERE = re.escape(str(Path(__file__).resolve()))


def fragment() -> Fragment:
    return Trajectory(3, 20, mean_episode=6).cut([20])[0]


def compute(text: str) -> torch.Tensor:
    return parse(text).build(Setting(OBSERVATION_SPACE, NUM_ACTIONS)).compute(fragment())


def make_speed() -> Any:
    @bonus("speed", scope="episodic")
    def speed(step: Step, scale: float = 1, *, only: Literal["moves", "all"] = "all", offset=0) -> torch.Tensor:
        """‖Δ position‖

        More words.
        """
        distance = (step.next_obs["blstats"] - step.obs["blstats"])[..., :2].norm(dim=-1)
        return scale * distance + offset

    return speed


def test_a_function_is_a_bonus() -> None:
    speed = make_speed()
    data, value = fragment(), compute("speed(scale=2.5)")
    for t in range(20):
        for n in range(3):
            move = next_state_at(data, t, n)["blstats"] - state_at(data, t, n)["blstats"]
            assert value[t, n] == pytest.approx(2.5 * np.hypot(*move[:2]))
    torch.testing.assert_close(speed(Step(data), 2.5), value)  # still a function
    torch.testing.assert_close(compute("2 * speed * speed"), 2 * compute("speed").double() ** 2)


def test_its_parameters_are_those_of_the_bonus() -> None:
    make_speed()
    assert parse("speed").parameters() == {"scale": 1.0, "only": "all", "offset": 0}
    assert str(parse("speed(2.0, only=moves)")) == "speed(scale=2, only=moves)"
    for wrong in ("speed(only=other)", "speed(scale=word)", "speed(offset=1.5)", "speed(size=1)"):
        with pytest.raises(InvalidInput):
            parse(wrong)


def test_it_describes_itself() -> None:
    make_speed()
    found = registered()["speed"]
    assert (found.scope, found.equation) == ("episodic", "‖Δ position‖")
    assert re.fullmatch(rf"Defined in {HERE}:\d+\.", found.when)
    bonus("other", scope="global", equation="x", when="never")(lambda step: step.reward)
    assert (registered()["other"].equation, registered()["other"].when) == ("x", "never")


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (None, "NoneType"),
        (1.0, "float"),
        (torch.zeros(20), r"float32 \[20\] on cpu"),
        (torch.zeros(20, 3, 1), r"float32 \[20, 3, 1\] on cpu"),
        (torch.zeros(20, 3, dtype=torch.complex64), r"complex64 \[20, 3\]"),
        (torch.zeros(20, 3, device="meta"), r"float32 \[20, 3\] on meta"),
        (np.zeros((3, 20)), r"float64 \[3, 20\]"),
        (np.full((20, 3), "a"), "an array of <U1"),
    ],
)
def test_a_wrong_result_is_reported_in_one_sentence(value: Any, found: str) -> None:
    bonus("wrong.function", scope="global")(lambda step: value)

    @bonus("wrong.class", scope="global")
    class Wrong:
        def compute(self, fragment: Fragment) -> Any:
            return value

    for name in ("wrong.function", "wrong.class"):
        with pytest.raises(InvalidInput) as caught:
            compute(name)
        expected = rf"bonus '{name}' \({HERE}:\d+\) must return a tensor \[T, N\] = \[20, 3\], not {found}.*"
        assert re.fullmatch(expected, str(caught.value))


def test_numpy_and_integers_are_fine() -> None:
    bonus("array", scope="global")(lambda step: step.action.numpy())
    torch.testing.assert_close(compute("array").double(), torch.from_numpy(fragment().action).double())


def from_numpy(step: Step) -> torch.Tensor:
    return torch.from_numpy(step.action)


def norm_of_array(step: Step) -> torch.Tensor:
    return step.action.numpy().norm()


def wrong_sizes(step: Step) -> torch.Tensor:
    return step.obs["blstats"] @ torch.zeros(3, 3)


@pytest.mark.parametrize(
    ("mistake", "reported"),
    [
        (from_numpy, "TypeError: expected np.ndarray .*; use torch instead of NumPy, .*"),
        (norm_of_array, "AttributeError: 'numpy.ndarray' .*; the values of a step are torch .*"),
        (wrong_sizes, "RuntimeError: .*"),
    ],
)
def test_a_mistake_inside_is_reported_with_its_line(mistake: Any, reported: str) -> None:
    bonus("mistaken.function", scope="global")(mistake)

    @bonus("mistaken.class", scope="global")
    class Mistaken:
        def compute(self, fragment: Fragment) -> Any:
            return mistake(Step(fragment))

    line = mistake.__code__.co_firstlineno + 1
    for name in ("mistaken.function", "mistaken.class"):
        with pytest.raises(InvalidInput) as caught:
            compute(name)
        assert re.fullmatch(rf"bonus '{name}' \({HERE}:\d+\), line {line}: {reported}", str(caught.value))


@pytest.mark.parametrize("error", [MemoryError(), OSError("disk full"), torch.OutOfMemoryError()])
def test_what_is_no_mistake_passes(error: Exception) -> None:
    def unlucky(step: Step) -> torch.Tensor:
        raise error

    bonus("unlucky", scope="global")(unlucky)
    with pytest.raises(type(error)):
        compute("unlucky")


def test_an_unknown_observation_names_the_function() -> None:
    bonus("sees", scope="global")(lambda step: step.obs["rgb"])
    with pytest.raises(InvalidInput, match=rf"'sees' \({HERE}:\d+\), line \d+: unknown observation 'rgb'"):
        compute("sees")


class Visits:
    """Σ of what came before."""

    size: int = 2

    def setup(self, setting: Setting) -> None:
        self.total = 0

    def compute(self, fragment: Fragment) -> np.ndarray:
        return np.full(fragment.action.shape, self.size + self.total)

    def learn(self, fragment: Fragment) -> None:
        self.total += 1

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "total": self.total}  # type: ignore[misc]

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.total = state["total"]


def test_a_plain_class_is_a_bonus() -> None:
    bonus("visits", scope="global")(Visits)
    term = parse("visits(size=5)")
    assert isinstance(term, Bonus)
    assert term.equation == "Σ of what came before."
    terms = Terms(term, Setting(OBSERVATION_SPACE, NUM_ACTIONS))
    assert terms.compute(fragment())[term].eq(5).all()
    assert terms.learn(fragment()) == {}
    assert terms.compute(fragment())[term].eq(6).all()
    restored = Terms(term, Setting(OBSERVATION_SPACE, NUM_ACTIONS))
    restored.load_state_dict(terms.state_dict())
    assert restored.compute(fragment())[term].eq(6).all()


def test_a_subclass_of_bonus_keeps_what_it_says_of_itself() -> None:
    @bonus("own")
    class Own(Bonus):
        scope = "combined"
        equation = "1"

        def compute(self, fragment: Fragment) -> torch.Tensor:
            return torch.ones(fragment.action.shape)

    assert registered()["own"] is Own
    assert (Own.scope, Own.equation) == ("combined", "1")
    assert compute("own").eq(1).all()


def test_a_cell_that_runs_again_replaces_its_bonus() -> None:
    make_speed()
    first = registered()["speed"]
    make_speed()
    assert registered()["speed"] is not first
    with pytest.raises(InvalidInput, match=rf"'speed' is taken by .*make_speed\.<locals>\.speed \({HERE}:\d+\)"):
        bonus("speed", scope="episodic")(lambda step: step.reward)
    with pytest.raises(InvalidInput, match=r"'e3b' is taken by bonuslab\.algorithms\.bonuses\.e3b"):
        bonus("e3b", scope="episodic")(lambda step: step.reward)


def _varied(step, *values): ...
def _nameless(step, /, size): ...
def _listed(step, size=()): ...
def _clash(step, name="x"): ...
def _mistyped(step, size: float = "x"): ...
def _stepless(): ...
def _unresolved(step, size: Missing = 1): ...  # noqa: F821


class _Initialised:
    def __init__(self, size: int = 1) -> None: ...
    def compute(self, fragment): ...


class _Forgetful:
    def compute(self, fragment): ...
    def state_dict(self): ...


class _Idle:
    size: int = 1


@pytest.mark.parametrize(
    ("arguments", "definition", "complaint"),
    [
        ((make_speed, "global"), _stepless, "needs a name"),
        (("Speed", "global"), _stepless, "lower-case words"),
        (("e3b_x_rnd", "global"), _stepless, "name of a preset"),
        (("a",), lambda step: step.reward, "needs a scope; allowed: global, episodic"),
        (("a", "episodc"), lambda step: step.reward, "unknown scope of bonus 'a': 'episodc'; did you mean episodic"),
        (("a", "global"), 3, "function or a class, not 3"),
        (("a", "global"), _stepless, "take a step"),
        (("a", "global"), _varied, "'values' needs a name and a default"),
        (("a", "global"), _nameless, "'size' needs a name and a default"),
        (("a", "global"), _listed, "'size' has type <class 'tuple'>"),
        (("a", "global"), _mistyped, "the default of 'size' is 'x', not of type float"),
        (("a", "global"), _clash, "cannot be called 'name'"),
        (("a", "global"), _unresolved, "name 'Missing' is not defined"),
        (("a", "global"), _Initialised, "must not define __init__"),
        (("a", "global"), _Forgetful, "must define both state_dict and load_state_dict, or neither"),
        (("a", "global"), _Idle, "must define compute"),
    ],
)
def test_what_cannot_be_a_bonus_is_refused(arguments: tuple[Any, ...], definition: Any, complaint: str) -> None:
    with pytest.raises(InvalidInput, match=complaint):
        bonus(*arguments)(definition)
    assert "a" not in registered()
