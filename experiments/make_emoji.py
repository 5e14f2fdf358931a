"""Make the bundle of the collection `emoji` from three npm packages: one sheet of pictures, and what is known of each.

    python experiments/make_emoji.py            # needs npm and Pillow; about 80 MB are downloaded

Pictures are those of Noto Emoji (emoji-datasource-google), 64 pixels wide, laid on white and not resized. They stand
row by row in one JPEG with full color resolution (4:4:4): a side of 64 is 8 blocks of JPEG, so no picture bleeds into
another. Groups and subgroups are those of emoji-datasource-google, names those of emojibase-data, keywords those of
emojibase-data and emojilib. Flags (those of countries alone would be a seventh of all), components, and subgroups of
fewer than 4 are left out. The same packages and the same version of Pillow give the same bytes.
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
LEFT_OUT = {"Component", "Flags"}
LEAST = 4  # a smaller class says little: of its queries, most have no more than two relevant items
SIDE = 64  # pixels, as in the package
COLUMNS = 41
QUALITY = 71  # about the best that keeps all of it below 2 MB
SYMBOLS = {"#": "number sign", "*": "asterisk"}  # of keycaps; a name needs letters


def main():
    """Download, read, cut and write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--target", type=Path, default=TARGET)
    target = parser.parse_args().target
    with tempfile.TemporaryDirectory() as folder:
        archives = {name: download(name, version, folder) for name, version in PACKAGES.items()}
        items, pictures = read(archives)
    target.mkdir(parents=True, exist_ok=True)
    (target / "pictures.jpg").write_bytes(encoded(sheet(pictures, SIDE, COLUMNS)))
    about = {"packages": PACKAGES, "side": SIDE, "columns": COLUMNS, "items": items}
    (target / "items.json.gz").write_bytes(packed(about))
    print(f"{len(items)} emoji in {len({one['subgroup'] for one in items})} subgroups")


def download(name, version, folder):
    """Return the archive of a package, got by its name."""
    command = ["npm", "pack", "--silent", f"{name}@{version}", "--pack-destination", folder]
    subprocess.run(command, check=True, capture_output=True)
    return Path(folder, f"{name}-{version}.tgz")


def read(archives):
    """Return what is known of each emoji that is kept, in Unicode's order, and its picture."""
    pictured = json.loads(members(archives["emoji-datasource-google"], ["emoji.json"])["emoji.json"])
    kept = sorted(keep(pictured), key=lambda one: one["sort_order"])
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
    """Return some files of a package by their path."""
    wanted = {f"package/{path}": path for path in paths}
    with tarfile.open(archive) as tar:
        return {wanted[one.name]: tar.extractfile(one).read() for one in tar if one.name in wanted}


def keep(records):
    """Return those that have a picture, are neither flags nor components, and whose subgroup has `LEAST` of them."""
    some = [one for one in records if one["category"] not in LEFT_OUT and one["has_img_google"]]
    sizes = Counter(one["subcategory"] for one in some)
    return [one for one in some if sizes[one["subcategory"]] >= LEAST]


def item(record, named, more):
    """Return what the bundle has of an emoji."""
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
    """Return a name of letters, digits and hyphens."""
    spelled = "".join(SYMBOLS.get(letter, letter) for letter in name)
    plain = unicodedata.normalize("NFKD", spelled).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain.replace("'", "")).strip("-")


def keywords(name, *lists):
    """Return the keywords of several lists, each once; none that says the name again, and no emoticon such as :D."""
    words = (word.replace("_", " ").strip() for some in lists for word in some)
    once = {word.casefold(): word for word in words if re.match(r"[^\W_]", word) and slug(word) != slug(name)}
    return list(once.values())


def check_ids(items):
    """Stop where two emoji would have one id."""
    twice = [name for name, n in Counter(one["id"] for one in items).items() if n > 1 or not name]
    if twice:
        raise SystemExit(f"These ids are not unique: {', '.join(twice)}.")


def on_white(picture):
    """Return a picture without transparency."""
    layer = picture.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer).convert("RGB")


def sheet(pictures, side, columns):
    """Return the pictures row by row in one."""
    whole = Image.new("RGB", (columns * side, -(-len(pictures) // columns) * side), "white")
    for number, picture in enumerate(pictures):
        if picture.size != (side, side):
            raise SystemExit(f"Picture {number} is of {picture.size} pixels, not {side} x {side}.")
        whole.paste(picture, (number % columns * side, number // columns * side))
    return whole


def encoded(whole):
    """Return the sheet as JPEG, colors as fine as brightness."""
    out = io.BytesIO()
    whole.save(out, "JPEG", quality=QUALITY, subsampling=0, optimize=True)  # progressive unpacks slower
    return out.getvalue()


def packed(about):
    """Return JSON, zipped without a time."""
    text = json.dumps(about, ensure_ascii=False, separators=(",", ":"))
    return gzip.compress(text.encode(), 9, mtime=0)


if __name__ == "__main__":
    main()
