"""Small images of items, for a page that has no links to the outside."""

import base64
import io
from collections.abc import Iterable
from pathlib import Path

from wisecrowd._checks import InputError

KINDS = {
    ".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".gif": "gif", ".webp": "webp",
}  # fmt: skip
SIDE = 160  # pixels
LARGEST = 60_000  # bytes of an image that is not made smaller
MOST_BYTES = 2_000_000  # of all images together


def thumbnails(folder: Path, items: Iterable[str]) -> dict[str, str]:
    """Return the images of these items as data URIs, as many as fit on a page.

    Parameters
    ----------
    folder : path
        Files are found by their name without its ending, which is that of the item.
    items : names
        In the order of importance.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder. Give the folder of the images.")
    files = {p.stem: p for p in sorted(folder.iterdir()) if p.suffix.lower() in KINDS}
    found: dict[str, str] = {}
    n_bytes = 0
    for item in items:
        image = None if item not in files else _small(files[item])
        if image is None or n_bytes + len(image) > MOST_BYTES:
            continue
        n_bytes += len(image)
        found[item] = image
    if not found:
        raise InputError(
            f"{folder} has no image of an item on the page. An image is called as its "
            f"item, such as {next(iter(items), 'item')}.png; the endings are "
            f"{', '.join(KINDS)}."
        )
    return found


def _small(path: Path) -> str | None:
    """Return an image as a data URI; None if it is too large and cannot be scaled."""
    kind, content = KINDS[path.suffix.lower()], path.read_bytes()
    if len(content) > LARGEST // 4:
        try:
            from PIL import Image

            with Image.open(io.BytesIO(content)) as image:
                image.thumbnail((SIDE, SIDE))
                made = io.BytesIO()
                image.convert("RGB").save(made, "JPEG", quality=80)
            kind, content = "jpeg", made.getvalue()
        except (ImportError, OSError, ValueError):
            pass
    if len(content) > LARGEST:
        return None
    return f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"
