"""A line of text below a picture."""

from __future__ import annotations

from functools import cache

import numpy as np
from PIL import Image, ImageDraw, ImageFont

BACKGROUND = (0, 0, 0)
TEXT_COLOUR = (150, 156, 160)
FONT_PIXELS = 15
LINE_PIXELS = 30
MARGIN_PIXELS = 10


def captioned(picture: np.ndarray, line: str) -> np.ndarray:
    """[H, W, 3]: a picture on black with a line below, cut where there is no room."""
    height, width = picture.shape[:2]
    canvas = Image.new("RGB", (width + 2 * MARGIN_PIXELS, height + MARGIN_PIXELS + LINE_PIXELS), BACKGROUND)
    canvas.paste(Image.fromarray(picture), (MARGIN_PIXELS, MARGIN_PIXELS))
    while line and _font().getlength(line) > width:
        line = line[:-1]
    middle = height + MARGIN_PIXELS + LINE_PIXELS // 2
    ImageDraw.Draw(canvas).text((MARGIN_PIXELS, middle), line, TEXT_COLOUR, _font(), anchor="lm")
    return np.asarray(canvas)


@cache
def _font() -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(FONT_PIXELS)
