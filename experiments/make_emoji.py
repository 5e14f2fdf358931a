"""Build the bundle of the collection `emoji` from three npm packages: one sheet of images, and a record for each.

    python experiments/make_emoji.py            # needs npm and Pillow; downloads about 80 MB

The images are Noto Emoji (emoji-datasource-google), 64 pixels wide, composited on white and not resized, row by row in
one JPEG with full color resolution (4:4:4): 64 pixels are 8 JPEG blocks, so no image bleeds into the next. Groups and
subgroups come from emoji-datasource-google, names from emojibase-data, keywords from emojibase-data and emojilib. Flags
(country flags alone would be a seventh of all items), components, and subgroups of fewer than 4 are dropped. The same
packages and the same version of Pillow give the same bytes.
"""

import argparse
import gzip
import io
import json
import re
import subprocess
import tarfile
import tempfile
import unicodedata
from collections import Counter
from pathlib import Path

from PIL import Image

PACKAGES = {"emoji-datasource-google": "16.0.0", "emojibase-data": "17.0.0", "emojilib": "4.0.3"}
TARGET = Path(__file__).parents[1] / "src" / "rankloom" / "datasets" / "bundled" / "emoji"
DROPPED = {"Component", "Flags"}
MIN_CLASS = 4  # in a smaller class, a query has at most two other relevant items
SIDE = 64  # pixels, as in the package
COLUMNS = 41
QUALITY = 71  # about the best that keeps the bundle under 2 MB
SYMBOLS = {"#": "number sign", "*": "asterisk"}  # keycaps; an id needs letters


def main():
    """Download the packages and write the bundle."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--target", type=Path, default=TARGET)
    target = parser.parse_args().target
    with tempfile.TemporaryDirectory() as folder:
        archives = {name: download(name, version, folder) for name, version in PACKAGES.items()}
        items, images = read(archives)
    target.mkdir(parents=True, exist_ok=True)
    (target / "pictures.jpg").write_bytes(encoded(sheet(images, SIDE, COLUMNS)))
    about = {"packages": PACKAGES, "side": SIDE, "columns": COLUMNS, "items": items}
    (target / "items.json.gz").write_bytes(packed(about))
    print(f"{len(items)} emoji in {len({one['subgroup'] for one in items})} subgroups")


def download(name, version, folder):
    """Download a package and return its archive."""
    command = ["npm", "pack", "--silent", f"{name}@{version}", "--pack-destination", folder]
    subprocess.run(command, check=True, capture_output=True)
    return Path(folder, f"{name}-{version}.tgz")


def read(archives):
    """Return the record and the image of each emoji to keep, in Unicode order."""
    records = json.loads(members(archives["emoji-datasource-google"], ["emoji.json"])["emoji.json"])
    kept = sorted(keep(records), key=lambda one: one["sort_order"])
    base = members(archives["emojibase-data"], ["en/data.json"])["en/data.json"]
    named = {one["hexcode"].replace("-FE0F", ""): one for one in json.loads(base)}
    path = "dist/emoji-en-US.json"
    more = json.loads(members(archives["emojilib"], [path])[path])
    items = [item(one, named[one["unified"].replace("-FE0F", "")], more) for one in kept]
    check_ids(items)
    paths = [f"img/google/64/{one['image']}" for one in kept]
    files = members(archives["emoji-datasource-google"], paths)
    return items, [on_white(Image.open(io.BytesIO(files[path]))) for path in paths]


def members(archive, paths):
    """Return some files of a package, by path."""
    wanted = {f"package/{path}": path for path in paths}
    with tarfile.open(archive) as tar:
        return {wanted[one.name]: tar.extractfile(one).read() for one in tar if one.name in wanted}


def keep(records):
    """Return records with an image, without flags, components and subgroups smaller than `MIN_CLASS`."""
    some = [one for one in records if one["category"] not in DROPPED and one["has_img_google"]]
    sizes = Counter(one["subcategory"] for one in some)
    return [one for one in some if sizes[one["subcategory"]] >= MIN_CLASS]


def item(record, named, more):
    """Return the bundle's record of an emoji."""
    character = "".join(chr(int(code, 16)) for code in record["unified"].split("-"))
    name = named["label"]
    return {
        "id": slug(name),
        "character": character,
        "code": record["unified"],
        "name": name,
        "keywords": keywords(name, named.get("tags", []), more.get(character, [])),
        "group": record["category"],
        "subgroup": record["subcategory"],
    }


def slug(name):
    """Return the name as ASCII letters, digits and hyphens."""
    words = "".join(SYMBOLS.get(character, character) for character in name)
    plain = unicodedata.normalize("NFKD", words).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain.replace("'", "")).strip("-")


def keywords(name, *lists):
    """Return the distinct keywords of several lists, except the name itself and emoticons such as :D."""
    words = (word.replace("_", " ").strip() for some in lists for word in some)
    once = {word.casefold(): word for word in words if re.match(r"[^\W_]", word) and slug(word) != slug(name)}
    return list(once.values())


def check_ids(items):
    """Stop if an id is empty or a duplicate."""
    wrong = [name for name, n in Counter(one["id"] for one in items).items() if n > 1 or not name]
    if wrong:
        raise SystemExit(f"Duplicate or empty ids: {', '.join(wrong)}.")


def on_white(image):
    """Return an image composited on white."""
    layer = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer).convert("RGB")


def sheet(images, side, columns):
    """Return one image with all images, row by row."""
    whole = Image.new("RGB", (columns * side, -(-len(images) // columns) * side), "white")
    for number, image in enumerate(images):
        if image.size != (side, side):
            raise SystemExit(f"Image {number} has {image.size} pixels, not {side} x {side}.")
        whole.paste(image, (number % columns * side, number // columns * side))
    return whole


def encoded(whole):
    """Return the sheet as JPEG, without chroma subsampling."""
    out = io.BytesIO()
    whole.save(out, "JPEG", quality=QUALITY, subsampling=0, optimize=True)  # progressive decodes more slowly
    return out.getvalue()


def packed(about):
    """Return gzipped JSON, without a timestamp."""
    text = json.dumps(about, ensure_ascii=False, separators=(",", ":"))
    return gzip.compress(text.encode(), 9, mtime=0)


if __name__ == "__main__":
    main()
