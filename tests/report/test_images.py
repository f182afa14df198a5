"""Small images of the items."""

import base64
import io

import pytest

import wisecrowd as wc
from wisecrowd.report.images import LARGEST, SIDE, thumbnails

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAA"
    "AABJRU5ErkJggg=="
)


def test_images_are_found_by_the_name_of_the_item(tmp_path):
    (tmp_path / "7.png").write_bytes(PIXEL)
    (tmp_path / "8.svg").write_text("<svg onload='alert(1)'/>")
    (tmp_path / "secret.txt").write_text("mine")
    found = thumbnails(tmp_path, ["7", "8", "9", "../secret", "secret"])
    assert list(found) == ["7"]
    assert base64.b64decode(found["7"].removeprefix("data:image/png;base64,")) == PIXEL


def test_a_large_image_is_made_small(tmp_path):
    image = pytest.importorskip("PIL.Image")
    image.effect_noise((600, 400), 90).save(tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > LARGEST
    content = thumbnails(tmp_path, ["a"])["a"].partition(",")[2]
    with image.open(io.BytesIO(base64.b64decode(content))) as small:
        assert max(small.size) == SIDE


def test_what_is_no_image_is_left_out_if_it_is_large(tmp_path):
    (tmp_path / "a.png").write_bytes(b"x" * (LARGEST + 1))
    (tmp_path / "b.png").write_bytes(PIXEL)
    assert list(thumbnails(tmp_path, ["a", "b"])) == ["b"]


def test_a_folder_without_images_of_the_items_is_a_sentence(tmp_path):
    with pytest.raises(wc.InputError, match=r"no image of an item .* such as 7\.png"):
        thumbnails(tmp_path, ["7"])
    with pytest.raises(wc.InputError, match="is not a folder"):
        thumbnails(tmp_path / "nowhere", ["7"])
