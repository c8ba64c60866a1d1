"""The grammar of bonus expressions: text to syntax tree, with the position of every node. Nothing is evaluated.

sum     := product ("+" product)*
product := factor ("*" factor)*
factor  := ["-"] number | "quoted string" | name ["(" [argument ("," argument)*] ")"] | "(" sum ")"
argument:= [name "="] sum
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar

from bonuslab.envs.errors import InvalidInput

P = TypeVar("P")
MAX_CHARACTERS = 20_000
MAX_DEPTH = 50
"""Of parentheses: far more than any sensible expression needs, far less than Python's stack allows."""

_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?![A-Za-z0-9_.])
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)
      | (?P<text>"(?:[^"\\\x00-\x1f]|\\.)*")
      | (?P<symbol>[-+*(),=])""",
    re.VERBOSE,
)
_HINTS = {
    "**": "powers are not supported; write e3b * e3b",
    "-": "subtraction is not supported; add a negative multiple: e3b + -0.5 * rnd",
    "/": "division is not supported; multiply by a number: 0.5 * e3b",
}


@dataclass(frozen=True)
class Number:
    """A number with its sign."""

    value: float
    text: str
    position: int


@dataclass(frozen=True)
class Quoted:
    """A double-quoted string."""

    value: str
    position: int


@dataclass(frozen=True)
class Argument:
    """An argument of a call, positional or keyword."""

    keyword: str | None
    value: Node
    position: int


@dataclass(frozen=True)
class Name:
    """A name, with or without arguments."""

    name: str
    arguments: tuple[Argument, ...] | None
    position: int


@dataclass(frozen=True)
class Operation:
    """Two or more operands joined by the same operator."""

    operator: Literal["+", "*"]
    operands: tuple[Node, ...]
    position: int


Node = Number | Quoted | Name | Operation


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    position: int


def syntax_error(text: str, position: int, message: str) -> InvalidInput:
    """An error that points into the expression."""
    start = max(0, position - 50)
    stop = min(len(text), position + 50)
    shown = "".join(letter if letter.isprintable() else " " for letter in text[start:stop])
    before = "…" if start else ""
    after = "…" if stop < len(text) else ""
    caret = " " * (len(before) + position - start) + "^"
    return InvalidInput(f"{message}\n  {before}{shown}{after}\n  {caret} character {position + 1}")


def read(text: str) -> Node:
    """The syntax tree of an expression, or an error at the first invalid character."""
    if len(text) > MAX_CHARACTERS:
        raise InvalidInput(f"bonus expression too long: {len(text)} characters, at most {MAX_CHARACTERS}")
    return _Reader(text).whole()


def shorten(word: str) -> str:
    """The word, shortened for error messages."""
    return word if len(word) <= 40 else f"{word[:39]}…"


def _tokens(text: str) -> list[_Token]:
    tokens = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise syntax_error(text, position, _why_no_token(text, position))
        if match.lastgroup != "space":
            tokens.append(_Token(str(match.lastgroup), match.group(), position))
        position = match.end()
    return [*tokens, _Token("end", "", len(text))]


def _why_no_token(text: str, position: int) -> str:
    letter = text[position]
    if letter in _HINTS:
        return _HINTS[letter]
    if letter == '"':
        return "unterminated string"
    if letter in "0123456789.":
        word = re.match(r"[0-9A-Za-z_.]*", text[position:])
        return f"{shorten(word.group() if word else letter)!r} is not a number"
    return f"unexpected character {letter!r}"


class _Reader:
    """Recursive-descent parser with one token of look-ahead."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._place = 0
        self._depth = 0

    def whole(self) -> Node:
        if self._here.kind == "end":
            raise syntax_error(self._text, 0, "the bonus expression is empty; write `none` for no bonus")
        tree = self._sum()
        if self._here.text == ")":
            raise syntax_error(self._text, self._here.position, "unmatched )")
        if self._here.kind != "end":
            raise self._unexpected("+ or *")
        return tree

    def _sum(self) -> Node:
        return self._chain("+", self._product)

    def _product(self) -> Node:
        return self._chain("*", self._factor)

    def _chain(self, operator: Literal["+", "*"], operand: Callable[[], Node]) -> Node:
        first = operand()
        operands = [first]
        while self._accept(operator):
            operands.append(operand())
        return Operation(operator, tuple(operands), first.position) if len(operands) > 1 else first

    def _factor(self) -> Node:
        token = self._here
        if token.kind == "number" or token.text == "-":
            return self._number()
        if self._accept("("):
            inner = self._nested(self._sum)
            self._expect(")")
            return inner
        if token.kind == "text":
            self._place += 1
            try:
                value = json.loads(token.text)
                value.encode()  # half of a surrogate pair could be neither written nor printed
                return Quoted(value, token.position)
            except (json.JSONDecodeError, UnicodeEncodeError):
                raise syntax_error(self._text, token.position, "invalid escape in string") from None
        if token.kind != "name":
            raise self._unexpected("a bonus, a number or (")
        self._place += 1
        if not self._accept("("):
            return Name(token.text, None, token.position)
        return Name(token.text, self._nested(self._arguments), token.position)

    def _number(self) -> Number:
        start = self._here.position
        sign = "-" if self._accept("-") else ""
        token = self._here
        if token.kind != "number":
            raise self._unexpected("a number after the sign")
        self._place += 1
        value = float(sign + token.text)
        if not math.isfinite(value):
            raise syntax_error(self._text, start, f"{shorten(token.text)} is too large")
        return Number(value, sign + token.text, start)

    def _arguments(self) -> tuple[Argument, ...]:
        arguments: list[Argument] = []
        if self._accept(")"):
            return ()
        while True:
            arguments.append(self._argument())
            if self._accept(")"):
                return tuple(arguments)
            self._expect(",", also=")")

    def _argument(self) -> Argument:
        token, following = self._here, self._tokens[min(self._place + 1, len(self._tokens) - 1)]
        if token.kind == "name" and following.text == "=":
            self._place += 2
            return Argument(token.text, self._sum(), token.position)
        return Argument(None, self._sum(), token.position)

    def _nested(self, part: Callable[[], P]) -> P:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise syntax_error(self._text, self._here.position, f"parentheses nested deeper than {MAX_DEPTH}")
        result = part()
        self._depth -= 1
        return result

    @property
    def _here(self) -> _Token:
        return self._tokens[self._place]

    def _accept(self, symbol: str) -> bool:
        if self._here.kind == "symbol" and self._here.text == symbol:
            self._place += 1
            return True
        return False

    def _expect(self, symbol: str, also: str = "") -> None:
        if not self._accept(symbol):
            raise self._unexpected(f"{symbol} or {also}" if also else symbol)

    def _unexpected(self, expected: str) -> InvalidInput:
        token = self._here
        if self._text[token.position - 1 : token.position + 1] == "**":
            return syntax_error(self._text, token.position - 1, _HINTS["**"])
        if token.text in _HINTS:
            return syntax_error(self._text, token.position, _HINTS[token.text])
        found = "the expression ends" if token.kind == "end" else f"found {shorten(token.text)!r}"
        return syntax_error(self._text, token.position, f"expected {expected}, but {found}")
