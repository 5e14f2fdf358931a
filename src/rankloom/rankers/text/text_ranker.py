"""Text rankers: the text models, registered by name with their options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import NDArray

from rankloom.errors import InputError
from rankloom.io.cache import Cache
from rankloom.rankers.ranker import RANKERS, Fitted
from rankloom.rankers.text import bag_of_words, word_graph, word_movers
from rankloom.rankers.text.term_model import TermModel
from rankloom.threads import Progress

#: (texts, options) -> a fitted ranker
Model = Callable[..., Fitted]

MODELS: Mapping[str, Model] = {**bag_of_words.RANKERS, **word_graph.RANKERS, **word_movers.RANKERS}
NOT_OPTIONS = frozenset({"texts", "tokenizer", "threads", "progress"})  # parameters that a spelling cannot have


@dataclass(frozen=True, slots=True)
class TextRanker:
    """A ranker that fits a text model.

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

    #: Whether scores of queries can be compared with scores of items: a few words are not a document.
    comparable: ClassVar[bool] = False

    @property
    def part(self) -> str:
        """The part of the collection it ranks by."""
        return "texts"

    def fit(self, items: Sequence[str], *, cache: Cache | None = None, progress: Progress | None = None) -> Fitted:
        """Fit the model to the texts of a collection."""
        more = {"progress": progress} if "progress" in inspect.signature(self.model).parameters else {}
        return self.model(items, **dict(self.options), **more)

    def restored(self, arrays: Mapping[str, NDArray[Any]]) -> TermModel:
        """Return the fitted model that `arrays` were made from."""
        make = getattr(self.model, "scheme", None)
        if make is None:
            raise InputError(f"The model {self.model.__name__} can be neither saved nor updated; use another ranker.")
        return TermModel.restored(arrays, make(**dict(self.options)))


def _maker(name: str, model: Model) -> Callable[..., TextRanker]:
    """Return the factory of a model's ranker; its options are the parameters of the model that a spelling can have."""

    def make(**options: Any) -> TextRanker:
        return TextRanker(model, tuple(sorted(options.items())))

    options = [one for key, one in inspect.signature(model).parameters.items() if key not in NOT_OPTIONS]
    make.__name__ = make.__qualname__ = name
    make.__doc__ = model.__doc__
    make.__signature__ = inspect.Signature(options, return_annotation=TextRanker)  # type: ignore[attr-defined]
    return make


for _name, _model in MODELS.items():
    RANKERS.register(_name)(_maker(_name, _model))
RANKERS.register("bm25")(_maker("bm25", MODELS["okapi"]))  # what most people call it
