"""Mathematics as MathML, converted when the site is built: pages need no script and no network for it."""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

_FOUND = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_content(content: str, **_: Any) -> str:
    """Replace LaTeX, which arithmatex has marked."""

    def mathml(match: re.Match[str]) -> str:
        display = "block" if match[2] == "[" else "inline"
        return (
            f'<{match[1]} class="mathematics">{convert(html.unescape(match[3]).strip(), display=display)}</{match[1]}>'
        )

    return _FOUND.sub(mathml, content)
