"""The rankers of texts by name, each with the options of its model."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rankloom.io.cache import Cache
from rankloom.rankers import bag_of_words, sentences, word_graph, word_movers
from rankloom.rankers.ranker import RANKERS, Fitted
from rankloom.threads import Progress

#: (texts, options of its own) -> what ranks them
Model = Callable[..., Fitted]

MODELS: Mapping[str, Model] = {**bag_of_words.RANKERS, **word_graph.RANKERS, **word_movers.RANKERS, **sentences.RANKERS}
OBJECTS = frozenset({"tokenizer", "threads", "progress"})  # arguments that cannot be written down


@dataclass(frozen=True, slots=True)
class TextRanker:
    """A model of texts that ranks them.

    Attributes
    ----------
    model : callable
        ``model(texts, **options)`` has a method `rank`, as `Fitted`.
    options : tuple of (str, value)

    Examples
    --------
    >>> ranker = RANKERS["bow-cosine"](weights="tf")
    >>> ranker.fit(["heart failure", "skin", "heart attack"]).rank(depth=2).items.tolist()
    [[0, 2], [1, -1], [2, 0]]
    """

    model: Model
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def part(self) -> str:
        """It looks at texts."""
        return "texts"

    def fit(self, items: Sequence[str], *, cache: Cache | None = None, progress: Progress | None = None) -> Fitted:
        """Make the model of a collection of texts."""
        told = {"progress": progress} if "progress" in inspect.signature(self.model).parameters else {}
        return self.model(items, **dict(self.options), **told)


def _maker(name: str, model: Model) -> Callable[..., TextRanker]:
    """Return what makes the ranker of a model; its options are those of the model that can be written down."""

    def make(**options: Any) -> TextRanker:
        return TextRanker(model, tuple(sorted(options.items())))

    own = [one for key, one in inspect.signature(model).parameters.items() if key != "texts" and key not in OBJECTS]
    make.__name__ = make.__qualname__ = name
    make.__doc__ = model.__doc__
    make.__signature__ = inspect.Signature(own, return_annotation=TextRanker)  # type: ignore[attr-defined]
    return make


for _name, _model in MODELS.items():
    RANKERS.register(_name)(_maker(_name, _model))
