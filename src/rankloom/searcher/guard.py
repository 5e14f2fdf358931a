"""The guard: rankers that found little in a self-test are left out, and the others are weighted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Any

from rankloom.errors import InputError

MIN_SHARE = 0.5  # of the best ranker's quality; those below are left out
DEAD_ZONE = 0.15  # of the logarithm of a ratio of qualities, which a test can hardly tell from none
STEEPNESS = 3.0


@dataclass(frozen=True, slots=True)
class Guard:
    """How well the rankers of a searcher found the documents of its self-test.

    Examples
    --------
    >>> guard = Guard({"bm25": 0.8, "dense": 0.6, "letters": 0.1}, 200)
    >>> guard.kept(["bm25", "dense", "letters"])
    ('bm25', 'dense')
    >>> {name: round(weight, 2) for name, weight in guard.weights(["bm25", "dense"]).items()}
    {'bm25': 1.2, 'dense': 0.8}
    >>> print(guard)
    Self-test with 200 documents: bm25 .80, dense .60, letters .10. Left out: letters.
    """

    quality: Mapping[str, float]  #: mean NDCG@10 of the pseudo-queries, plus .01
    n_documents: int  #: that the pseudo-queries were made of

    @classmethod
    def restored(cls, given: Mapping[str, Any], names: Sequence[str]) -> Guard:
        """Return a stored guard; raise InputError if it is not that of the rankers."""
        guard = cls({str(name): float(value) for name, value in given["quality"].items()}, int(given["n_documents"]))
        if list(guard.quality) != list(names) or not all(0 < value <= 2 for value in guard.quality.values()):
            raise InputError("the self-test does not match the rankers")
        return guard

    def kept(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the rankers with at least half the quality of the best."""
        best = max(self.quality[name] for name in names)
        return tuple(name for name in names if self.quality[name] >= MIN_SHARE * best)

    def weights(self, names: Sequence[str]) -> dict[str, float]:
        """Return the weight of each ranker in a vote of these; their mean is 1."""
        best = max(self.quality[name] for name in names)
        raw = [exp(-STEEPNESS * max(0.0, log(best / self.quality[name]) - DEAD_ZONE)) for name in names]
        return {name: weight * len(raw) / sum(raw) for name, weight in zip(names, raw, strict=True)}

    def __str__(self) -> str:
        found = ", ".join(f"{name} {f'{value:.2f}'.lstrip('0')}" for name, value in self.quality.items())
        left_out = ", ".join(name for name in self.quality if name not in self.kept(list(self.quality)))
        return f"Self-test with {self.n_documents} documents: {found}." + (
            f" Left out: {left_out}." if left_out else ""
        )
