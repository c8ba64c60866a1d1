"""Parse bonus expressions: `parse("e3b + 100 * noveld(c=0.1)")`. Names are looked up; Python is never evaluated."""

from __future__ import annotations

import dataclasses
import math
import typing
from typing import Any, Literal

from bonuslab.algorithms.bonuses.algebra.base import Bonus
from bonuslab.algorithms.bonuses.algebra.combinators import add, multiply
from bonuslab.algorithms.bonuses.algebra.parser import (
    Argument,
    Name,
    Node,
    Number,
    Operation,
    Quoted,
    read,
    shorten,
    syntax_error,
)  # fmt: skip
from bonuslab.algorithms.bonuses.algebra.presets import PRESETS
from bonuslab.algorithms.bonuses.algebra.registry import registered
from bonuslab.envs.errors import InvalidInput, unknown

MAX_INTEGER = 2**63 - 1


def parse(text: str) -> Bonus:
    """The bonus that `text` describes; `parse(str(bonus)) == bonus`.

    A name is a registered bonus or a preset; a preset stands for its expression, as if in parentheses.
    """
    tree = read(text)
    value = _Evaluator(text).evaluate(tree)
    if not isinstance(value, Bonus):
        raise syntax_error(text, tree.position, "a number alone is not a bonus; write `none` for no bonus")
    full = str(value)
    if full != text:
        try:
            read(full)  # spaces and the expressions of presets make it longer and deeper
        except InvalidInput as error:
            raise InvalidInput(f"the bonus expression is too large when written out: {error}") from None
    return value


def parameter_types(bonus: type[Bonus]) -> dict[str, Any]:
    """The parameters of a bonus with their types, in order."""
    return {item.name: item.type for item in dataclasses.fields(bonus) if item.init}  # type: ignore[arg-type]


def required_parameters(bonus: type[Bonus]) -> list[str]:
    """The parameters without a default."""
    missing = dataclasses.MISSING
    return [
        item.name
        for item in dataclasses.fields(bonus)  # type: ignore[arg-type]
        if item.init and item.default is missing and item.default_factory is missing
    ]


class _Evaluator:
    """Evaluates the syntax tree of one expression; errors point into its text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._classes = registered()

    def evaluate(self, node: Node) -> Bonus | float:
        """The bonus or number that a node stands for."""
        match node:
            case Number():
                return node.value
            case Quoted():
                raise self._error(node, "a quoted string is not a bonus")
            case Name():
                return self._named(node)
            case Operation(operator="+"):
                return add(*[self._bonus(operand) for operand in node.operands])
            case Operation():
                return self._product(node)

    def _bonus(self, node: Node) -> Bonus:
        value = self.evaluate(node)
        if not isinstance(value, Bonus):
            raise self._error(node, "a number can multiply a bonus but is not a bonus itself")
        return value

    def _product(self, node: Operation) -> Bonus | float:
        values = [self.evaluate(operand) for operand in node.operands]
        bonuses = [value for value in values if isinstance(value, Bonus)]
        scale: float = math.prod(value for value in values if not isinstance(value, Bonus))
        if not bonuses:
            return scale
        try:
            return multiply(*bonuses, scale)
        except InvalidInput as error:
            raise self._error(node, str(error)) from None

    def _named(self, node: Name) -> Bonus:
        if node.name in self._classes:
            return self._call(self._classes[node.name], node)
        if node.name in PRESETS:
            if node.arguments is not None:
                raise self._error(node, f"the preset {node.name} takes no parameters")
            return parse(PRESETS[node.name].expression)
        raise self._error(node, str(unknown("bonus", shorten(node.name), [*self._classes, *PRESETS])))

    def _call(self, bonus: type[Bonus], node: Name) -> Bonus:
        types = parameter_types(bonus)
        given: dict[str, Any] = {}
        for place, argument in enumerate(node.arguments or ()):
            parameter = self._parameter(argument, place, list(types), given, node)
            given[parameter] = self._value(argument.value, types[parameter], f"{parameter} of {node.name}")
        missing = [parameter for parameter in required_parameters(bonus) if parameter not in given]
        if missing:
            raise self._error(node, f"{node.name} requires {', '.join(missing)}")
        try:
            return bonus(**given)
        except (ValueError, TypeError) as error:
            raise self._error(node, str(error)) from error

    def _parameter(self, argument: Argument, place: int, names: list[str], given: dict[str, Any], node: Name) -> str:
        """The name of the parameter that an argument sets."""
        if argument.keyword is None:
            if any(earlier.keyword is not None for earlier in (node.arguments or ())[:place]):
                raise self._error(argument, "positional argument after keyword argument")
            if place >= len(names):
                takes = f"takes only {', '.join(names)}" if names else "takes no parameters"
                raise self._error(argument, f"{node.name} {takes}")
            return names[place]
        if not names:
            raise self._error(argument, f"{node.name} takes no parameters")
        if argument.keyword not in names:
            raise self._error(argument, str(unknown(f"parameter of {node.name}", shorten(argument.keyword), names)))
        if argument.keyword in given:
            raise self._error(argument, f"{argument.keyword} is repeated")
        return argument.keyword

    def _value(self, node: Node, wanted: Any, what: str) -> Any:
        """The value of a parameter, converted to the declared type of its field."""
        word = _word(node)
        if typing.get_origin(wanted) is Literal:
            choices = {str(choice): choice for choice in typing.get_args(wanted)}
            if word not in choices:
                shown = shorten(word) if word is not None else "this value"
                raise self._error(node, str(unknown(what, shown, choices)))
            return choices[word]
        if wanted is bool:
            if word is None or word.lower() not in ("true", "false"):
                raise self._error(node, f"{what} must be true or false")
            return word.lower() == "true"
        if wanted is int:
            return self._integer(node, what)
        if wanted is float:
            if not isinstance(node, Number):
                raise self._error(node, f"{what} must be a number")
            return node.value
        if wanted is str:
            if word is None or isinstance(node, Number):
                raise self._error(node, f"{what} must be a word or a double-quoted string")
            return word
        if isinstance(wanted, type) and issubclass(wanted, Bonus):
            return self._bonus(node)
        raise self._error(node, f"{what} has type {wanted}, which expressions do not support")

    def _integer(self, node: Node, what: str) -> int:
        if not isinstance(node, Number) or not node.value.is_integer():
            raise self._error(node, f"{what} must be an integer")
        if abs(node.value) > MAX_INTEGER:
            raise self._error(node, f"{what} is too large")
        # From the text if possible: a float cannot represent every large integer.
        return int(node.text) if node.text.lstrip("-").isdigit() else int(node.value)

    def _error(self, node: Node | Argument, message: str) -> InvalidInput:
        return syntax_error(self._text, node.position, message)


def _word(node: Node) -> str | None:
    """A node as a plain word, or None if it is more than that."""
    match node:
        case Name(arguments=None):
            return node.name
        case Quoted():
            return node.value
        case Number():
            return node.text
    return None
