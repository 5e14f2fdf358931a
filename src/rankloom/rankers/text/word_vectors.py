"""Word vectors: read from a file, or learned from the collection itself."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from rankloom.errors import InputError, whole_number
from rankloom.io.archive import load_arrays
from rankloom.io.text_file import FilePath, numbered_lines
from rankloom.rankers.text.terms import Tokens, Vocabulary
from rankloom.ranks.arrays import Floats
from rankloom.ranks.nearest import table

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

WINDOW = 5  # context words on each side, in the same sentence
MAX_DENSE = 500  # words up to which the SVD is dense


class WordVectors:
    """Words and their vectors, a row each.

    Examples
    --------
    >>> WordVectors(["a", "b"], [[1.0, 0.0], [0.0, 1.0]]).of(["b", "c"])
    array([[ 0.,  1.],
           [nan, nan]])
    """

    def __init__(self, words: Sequence[str], matrix: ArrayLike) -> None:
        self.matrix = np.asarray(table(matrix, "The matrix of word vectors"), np.float64)
        self.numbers = {word: number for number, word in enumerate(words)}
        if len(self.numbers) != len(self.matrix):
            raise InputError(
                f"Each word must have one vector; got {len(self.numbers)} distinct words and {len(self.matrix)} rows."
            )
        if not np.isfinite(self.matrix).all():
            raise InputError("Word vectors must be finite; omit words without a vector.")

    def of(self, words: Sequence[str]) -> Floats:
        """Return the vectors of these words; NaN for words without a vector."""
        rows = np.array([self.numbers.get(word, -1) for word in words], np.intp)
        vectors = np.full((len(rows), self.matrix.shape[1]), np.nan)
        vectors[rows >= 0] = self.matrix[rows[rows >= 0]]
        return vectors


def read_vectors(path: FilePath, words: Collection[str] | None = None) -> WordVectors:
    """Read word vectors, of the given words or of all.

    Text (GloVe .txt, word2vec and fastText .vec, also .gz): on each line, a word and its numbers, separated by spaces;
    a first line with two integers (number of words, length of the vectors) is skipped. An .npz file has arrays `words`
    and `vectors`.
    """
    if Path(path).suffix == ".npz":
        return _read_arrays(path)
    return _read_lines(path, None if words is None else set(words))


def _read_arrays(path: FilePath) -> WordVectors:
    arrays = load_arrays(path)
    if {"words", "vectors"} - arrays.keys():
        raise InputError(f"{path}: expected arrays 'words' and 'vectors'; got {', '.join(arrays)}.")
    return WordVectors([str(word) for word in arrays["words"]], arrays["vectors"])


def _read_lines(path: FilePath, wanted: set[str] | None) -> WordVectors:
    found: dict[str, Floats] = {}
    length = 0
    for number, line in numbered_lines(path):
        word, *rest = line.decode().rstrip().split(" ")
        if number == 1 and word.isdigit() and len(rest) == 1:
            continue  # number of words, length of the vectors
        length = length or len(rest)
        if not rest or len(rest) != length:
            numbers = f"{length} numbers" if length else "its numbers"
            raise InputError(f"{path}:{number}: expected a word and {numbers}, got {len(rest)}.")
        if wanted is None or word in wanted:
            try:
                found[word] = np.array(rest, np.float64)
            except ValueError:
                raise InputError(f"{path}:{number}: expected numbers after {word!r}; got {rest[0]!r}, ...") from None
    if not found:
        raise InputError(f"{path} has no vector for any of the words; is it for this language, in lower case?")
    return WordVectors(list(found), np.stack(list(found.values())))


def learn_vectors(
    vocabulary: Vocabulary, tokens: Tokens, *, dimensions: int = 100, window: int = WINDOW
) -> WordVectors:
    r"""Learn word vectors from co-occurrences: PPMI, then a truncated SVD.

    .. math:: M_{ij} = \max\left(0, \log \frac{n_{ij}\, n}{n_i\, n_j}\right),\quad
        M \approx U \Sigma V^T,\quad x_i = U_i \sqrt{\Sigma}

    where :math:`n_{ij}` counts how often i and j are within `window` words of each other in a sentence. Each column is
    signed so that its largest absolute value is positive: the same texts give the same vectors. Raise InputError if M
    is 0: no two words co-occur, as in texts of one word.

    References
    ----------
    Levy, Goldberg, Dagan (2015), Improving distributional similarity, doi:10.1162/tacl_a_00134
    """
    ppmi = _ppmi(_cooccurrences(tokens, len(vocabulary.numbers), whole_number("window", window)))
    if len(vocabulary.numbers) and not ppmi.nnz:
        raise InputError("Cannot learn word vectors: no words co-occur more often than by chance. Give vectors=FILE.")
    u, s = _decompose(ppmi, min(whole_number("dimensions", dimensions), len(vocabulary.numbers)))
    if len(u):
        u = u * np.where(u[np.abs(u).argmax(axis=0), np.arange(u.shape[1])] < 0, -1.0, 1.0)
    return WordVectors(list(vocabulary.numbers), u * np.sqrt(s))


def _cooccurrences(tokens: Tokens, n_words: int, window: int) -> csr_matrix:
    from scipy.sparse import coo_matrix, csr_matrix

    counts = csr_matrix((n_words, n_words))
    for step in range(1, window + 1):
        together = tokens.sentences[:-step] == tokens.sentences[step:]
        pair = tokens.words[:-step][together], tokens.words[step:][together]
        counts = counts + coo_matrix((np.ones(len(pair[0])), pair), counts.shape).tocsr()
    return (counts + counts.T).tocsr()


def _ppmi(counts: csr_matrix) -> csr_matrix:
    rows = np.asarray(counts.sum(axis=1)).ravel()
    pairs = counts.tocoo()
    pairs.data = np.log(pairs.data * rows.sum() / (rows[pairs.row] * rows[pairs.col])).clip(min=0.0)
    ppmi = pairs.tocsr()
    ppmi.eliminate_zeros()
    return ppmi


def _decompose(matrix: csr_matrix, k: int) -> tuple[Floats, Floats]:
    """Return the first k left singular vectors and their singular values, largest first."""
    n = matrix.shape[0]
    if n <= MAX_DENSE or k >= n:
        u, s, _ = np.linalg.svd(matrix.toarray(), full_matrices=False)
        return u[:, :k], s[:k]
    from scipy.sparse.linalg import svds

    u, s, _ = svds(matrix, k=k, v0=np.ones(n))  # fixed start: the default is random
    order = np.argsort(-s, kind="stable")
    return u[:, order], s[order]
