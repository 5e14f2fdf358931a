"""The bundled emoji collection: its content, and the script that builds it."""

import runpy
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from rankloom.datasets import emoji, open_collection
from rankloom.datasets.emoji import BUNDLE
from rankloom.datasets.images import on_transparent
from rankloom.errors import InputError
from rankloom.rankers.text.terms import Tokenizer

ROOT = Path(__file__).parents[2]
LICENSES = ["LICENSE-Apache-2.0.txt", "LICENSE-Unicode-3.0.txt", "NOTICE.txt"]


@pytest.fixture(scope="module")
def collection():
    return emoji()


@pytest.fixture(scope="module")
def make():
    return runpy.run_path(str(ROOT / "experiments" / "make_emoji.py"))


def record(code, category="Objects", subcategory="tool", **more):
    return {
        "unified": code,
        "category": category,
        "subcategory": subcategory,
        "has_img_google": True,
        "sort_order": 1,
        **more,
    }


def test_emoji_has_1616_items_in_87_classes(collection):
    sizes = Counter(collection.labels)
    assert (len(collection), len(sizes), min(sizes.values())) == (1616, 87, 5)
    assert collection.about == "1616 emoji with names and keywords, in 87 classes"
    assert not {"Flags", "Component"} & set(collection.part("groups"))


def test_ids_names_texts_and_characters_are_unique(collection):
    for part in ("ids", "names", "texts", "characters"):
        assert len(set(collection.part(part))) == 1616
        assert all(collection.part(part))
    assert all(name.replace("-", "").isalnum() and name.isascii() for name in collection.ids)
    number = collection.ids.number("keycap-number-sign")
    assert collection.part("characters")[number] == "#\N{VARIATION SELECTOR-16}\N{COMBINING ENCLOSING KEYCAP}"


def test_text_is_the_name_and_each_keyword_as_a_sentence(collection):
    text = collection.part("texts")[collection.ids.number("high-speed-train")]
    assert text.startswith("high-speed train. high-speed. railway. shinkansen. speed. train. ")
    sentences = Tokenizer(stem=False).sentences(text)
    assert sentences[:3] == [["high", "speed", "train"], ["high", "speed"], ["railway"]]
    assert not any("_" in text for text in collection.part("texts"))


def test_images_are_64_pixels_wide_on_white(collection):
    images = np.stack([one.load() for one in collection.part("images")])
    assert (images.shape, images.dtype) == ((1616, 64, 64, 3), np.uint8)
    assert (images.reshape(1616, -1, 3).std(axis=1).max(axis=1) > 5).all()  # none is empty
    corners = images[:, [0, 0, -1, -1], [0, -1, 0, -1]].reshape(1616, -1)
    assert ((corners > 235).all(axis=1)).mean() > 0.8  # others, such as buttons, fill their square


def test_only_families_share_an_image(collection):
    named = {}
    for name, image in zip(collection.ids, collection.part("images"), strict=True):
        named.setdefault(image.load().tobytes(), []).append(name)
    shared = [name for names in named.values() if len(names) > 1 for name in names]
    assert (len(named), len(shared)) == (1611, 9)
    assert all(name.startswith("family") for name in shared)


def test_images_are_shown_on_a_transparent_ground(collection):
    images = [on_transparent(one.load()) for one in collection.part("images")[::20]]
    corners = np.stack([image[[0, 0, -1, -1], [0, -1, 0, -1], 3] for image in images])
    assert (corners == 0).mean() > 0.8
    assert min((image[..., 3] == 255).mean() for image in images) > 0.05
    for one, image in zip(collection.part("images")[::20], images, strict=True):
        alpha = image[..., 3:] / 255
        seen = image[..., :3] * alpha + 255 * (1 - alpha)
        assert np.abs(seen - one.load())[image[..., 3] > 0].max() < 2  # on white, as it was
    assert all(one.on_white for one in collection.part("images"))


def test_white_that_touches_the_ground_at_a_corner_is_ground():
    image = np.full((5, 5, 3), 255, np.uint8)
    image[1:4, 1:4] = 0
    image[1, 1] = image[2, 2] = 255
    assert on_transparent(image)[[1, 2, 3], [1, 2, 3], 3].tolist() == [0, 0, 255]


def test_last_box_is_where_the_sheet_ends(collection):
    last = collection.part("images")[-1]
    assert last.box == (16 * 64, 39 * 64, 17 * 64, 40 * 64)  # 1616 = 39 * 41 + 17


def test_first_limits_the_number_of_items(collection):
    some = open_collection("emoji(first=30)")
    assert (list(some.ids), some.labels) == (list(collection.ids)[:30], collection.labels[:30])
    with pytest.raises(InputError, match="There are 1616 emoji; got first=2000"):
        emoji(first=2000)


def test_bundle_is_under_two_megabytes_and_credits_its_authors():
    files = {file.name: file.stat().st_size for file in BUNDLE.iterdir()}
    assert sum(files.values()) <= 2_000_000
    assert sorted(files) == [*LICENSES, "items.json.gz", "pictures.jpg"]
    notice = (BUNDLE / "NOTICE.txt").read_text("utf-8")
    lines = {line for line in notice.splitlines() if line.startswith("Copyright")}
    for holder in ("Google", "Miles Johnson", "Mu-An Chiou", "Cal Henderson", "Unicode, Inc."):
        assert [line for line in lines if holder in line], holder


def test_wheel_includes_the_bundle_and_its_licenses():
    wheel = pytest.importorskip("hatchling.builders.wheel").WheelBuilder(str(ROOT))
    files = {file.distribution_path for file in wheel.recurse_included_files()}
    assert {f"rankloom/datasets/bundled/emoji/{file.name}" for file in BUNDLE.iterdir()} <= files
    licenses = set(wheel.metadata.core.license_files)
    assert {f"src/rankloom/datasets/bundled/emoji/{name}" for name in LICENSES} | {"LICENSE"} == licenses


def test_flags_components_and_small_subgroups_are_dropped(make):
    tools = [record(f"1F52{n}") for n in range(4)]
    small = [record("1F3E8", subcategory="hotel")] * 3
    others = [record("1F1E6", "Flags", "flag")] * 9 + [record("1F3FB", "Component", "skin-tone")] * 5
    unseen = [record("1F6D2", has_img_google=False)]
    assert make["keep"]([*others, *tools, *small, *unseen]) == tools


def test_keywords_are_unique_and_do_not_repeat_the_name(make):
    found = make["keywords"]("up-right arrow", ["arrow", "East"], ["up_right_arrow", "east", "blue_square", ":D", "<3"])
    assert found == ["arrow", "east", "blue square"]


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("grinning face", "grinning-face"),
        ("A button (blood type)", "a-button-blood-type"),
        ("keycap: #", "keycap-number-sign"),
        ("keycap: *", "keycap-asterisk"),
        ("piñata", "pinata"),
        ("man’s shoe", "mans-shoe"),
        ("Japanese “open for business” button", "japanese-open-for-business-button"),
    ],
)
def test_id_is_a_slug_of_the_name(make, name, slug):
    assert make["slug"](name) == slug


def test_duplicate_ids_stop_the_script(make):
    with pytest.raises(SystemExit, match="Duplicate or empty ids: cat"):
        make["check_ids"]([{"id": "cat"}, {"id": "dog"}, {"id": "cat"}])


def test_item_joins_the_records_of_the_packages(make):
    named = {"label": "hammer", "tags": ["tool"]}
    found = make["item"](record("1F528"), named, {"\N{HAMMER}": ["hammer", "tools", "build"]})
    assert found == {
        "id": "hammer",
        "character": "\N{HAMMER}",
        "code": "1F528",
        "name": "hammer",
        "keywords": ["tool", "tools", "build"],
        "group": "Objects",
        "subgroup": "tool",
    }


def test_images_are_composited_on_white_and_placed_row_by_row(make):
    image = pytest.importorskip("PIL.Image")
    half = image.new("RGBA", (2, 2), (255, 0, 0, 0))
    half.putpixel((0, 0), (255, 0, 0, 255))
    white = make["on_white"](half)
    assert [white.getpixel((x, 0)) for x in (0, 1)] == [(255, 0, 0), (255, 255, 255)]
    colors = ["red", "lime", "blue"]
    whole = make["sheet"]([image.new("RGB", (2, 2), color) for color in colors], 2, 2)
    assert (whole.size, whole.getpixel((3, 0)), whole.getpixel((0, 3))) == ((4, 4), (0, 255, 0), (0, 0, 255))
    assert whole.getpixel((3, 3)) == (255, 255, 255)
    with pytest.raises(SystemExit, match="Image 0"):
        make["sheet"]([image.new("RGB", (3, 2))], 2, 2)


def test_bytes_are_reproducible(make):
    image = pytest.importorskip("PIL.Image")
    sheet = image.new("RGB", (16, 16), "teal")
    assert make["encoded"](sheet) == make["encoded"](sheet)
    assert make["packed"]({"a": "é"}) == make["packed"]({"a": "é"})
    assert make["packed"]({})[4:8] == bytes(4)  # the timestamp in the gzip header
