"""The report page: one self-contained file, from what was learned.

A page has no links to the outside: style, script and data are in it. Text of strangers
(names of items, annotators, classes) enters it in two ways only: escaped by Jinja, or
as JSON whose ``<``, ``>`` and ``&`` are escaped, which the script writes as text.
"""

import base64
import hashlib
import json
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any

from wisecrowd._checks import InputError
from wisecrowd._files import replacing
from wisecrowd.report.data import page_data
from wisecrowd.report.images import thumbnails
from wisecrowd.results.findings import Findings

__all__ = ["page", "write_report"]

HERE = Path(__file__).parent
ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def write_report(
    found: Findings,
    path: str | PathLike[str],
    *,
    images: str | PathLike[str] | None = None,
) -> None:
    """Write the page about what was learned.

    Parameters
    ----------
    found : Findings
        What was learned.
    path : path
        The HTML file.
    images : path, optional
        A folder with an image per item, called as the item.
    """
    path = Path(path).expanduser()
    if path.is_dir():
        raise InputError(f"{path} is a folder. Give a file, such as report.html.")
    text = page(found, images=images)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def page(found: Findings, *, images: str | PathLike[str] | None = None) -> str:
    """Return the page about what was learned, as HTML."""
    content = page_data(found)
    shown = [row["name"] for row in content["items"]["rows"]]
    content["images"] = (
        {} if images is None else thumbnails(Path(images).expanduser(), shown)
    )
    script = (HERE / "page.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    text: str = _template().render(
        **content,
        style=(HERE / "page.css").read_text(encoding="utf-8"),
        script=script,
        script_digest=digest,
        data=as_script_data(content),
    )
    return text


def as_script_data(content: Any) -> str:
    r"""Return JSON that can stand inside an HTML element ``script``.

    Examples
    --------
    >>> as_script_data({"name": "</script>"})
    '{"name":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(
        content, allow_nan=False, ensure_ascii=False, separators=(",", ":")
    )
    return text.translate(ESCAPES)


@cache
def _template() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    ).get_template("page.html")
