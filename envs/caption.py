"""A caption below a picture."""

from __future__ import annotations

from functools import cache

import numpy as np
from PIL import Image, ImageDraw, ImageFont

BACKGROUND = (0, 0, 0)
TEXT_COLOUR = (150, 156, 160)
FONT_PIXELS = 15
LINE_PIXELS = 30
MARGIN_PIXELS = 10


def captioned(picture: np.ndarray, caption: str) -> np.ndarray:
    """[H, W, 3]: the picture on black with a one-line caption below, truncated to its width."""
    height, width = picture.shape[:2]
    canvas = Image.new("RGB", (width + 2 * MARGIN_PIXELS, height + MARGIN_PIXELS + LINE_PIXELS), BACKGROUND)
    canvas.paste(Image.fromarray(picture), (MARGIN_PIXELS, MARGIN_PIXELS))
    while caption and font().getlength(caption) > width:
        caption = caption[:-1]
    middle = height + MARGIN_PIXELS + LINE_PIXELS // 2
    ImageDraw.Draw(canvas).text((MARGIN_PIXELS, middle), caption, TEXT_COLOUR, font(), anchor="lm")
    return np.asarray(canvas)


@cache
def font(pixels: int = FONT_PIXELS) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Pillow's default font."""
    return ImageFont.load_default(pixels)
