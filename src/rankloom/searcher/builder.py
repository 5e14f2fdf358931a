"""What a new searcher is built from: rankers as they may be given, and the state that their lists make up."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankloom.datasets import Collection
from rankloom.errors import InputError, RankloomWarning, brief, is_function
from rankloom.rankers.ranker import Ranker
from rankloom.rankers.ranking import MadeRanker, RankedLists, Ranking, made_ranker, rankers_by_name
from rankloom.rankers.text.embeddings import has_static
from rankloom.rankers.vectors.encoder import Encode, EncoderRanker
from rankloom.ranks import Ids, Ranks
from rankloom.registry import Call
from rankloom.searcher.batch import Batch
from rankloom.searcher.documents import Documents
from rankloom.searcher.probes import Probes
from rankloom.searcher.retriever import Model
from rankloom.searcher.state import Settings, State

#: Default rankers for each part of a collection.
DEFAULT_RANKERS = {"images": ("bic", "gch", "las", "qcch"), "texts": ("bm25", "static")}
WITHOUT_STATIC = (
    "Texts are ranked by bm25 alone; pip install 'rankloom[dense]' adds static, embeddings that also find documents "
    "without the words of the query."
)
RankerLike = str | Call | Ranker | Encode


def default_rankers(batch: Batch) -> list[str]:
    """Return the rankers of documents for which none were chosen."""
    names = [name for part, rankers in DEFAULT_RANKERS.items() if part in batch.kinds for name in rankers]
    if not names:
        raise InputError(f"{batch.name} has neither images nor texts; name a ranker, such as vectors(part=...).")
    if "static" in names and not has_static():
        names.remove("static")
        warnings.warn(WITHOUT_STATIC, RankloomWarning, stacklevel=4)
    return names


def made_rankers(rankers: Mapping[str, RankerLike] | Sequence[str] | str | None, batch: Batch) -> dict[str, MadeRanker]:
    """Return rankers by name, each made once; a function becomes an encoder of texts or else of images.

    If none are given, there are some for each kind of content.
    """
    kinds, named = batch.kinds, rankers_by_name(default_rankers(batch) if rankers is None else rankers)
    if not named:
        raise InputError("Give at least one ranker.")
    return {name: _made(name, given, kinds) for name, given in named.items()}


def _made(name: str, given: RankerLike, kinds: set[str]) -> MadeRanker:
    if isinstance(given, str | Call) or (hasattr(given, "fit") and not isinstance(given, type)):
        return made_ranker(given)  # type: ignore[arg-type]
    if not is_function(given):
        raise InputError(
            f"The ranker {name!r} must be a spelling, a Ranker, or a function from contents to a matrix; got "
            f"{brief(given)}."
        )
    return MadeRanker(EncoderRanker(name, given, part="texts" if "texts" in kinds else "images"))


def first_state(documents: Documents, ranking: Ranking, settings: Settings) -> State:
    """Return the state of a new searcher: documents, fitted rankers and lists."""
    models, lists = {}, {}
    for name, ranked in ranking.lists.items():
        if ranked.items is None or ranked.fit is None or ranked.ranker is None:
            raise InputError(f"The ranker {name!r} has no lists of the items themselves, which a search needs.")
        probes = _probes(ranked, ranking.collection)
        models[name] = Model(name, ranked.ranker, ranked.fit(), ranked.spelling, probes)
        own = _over(ranked.items, ranking.collection.ids)
        lists[name] = Ranks.trusted(
            np.ascontiguousarray(own.items), own.scores, len(documents), kind="collection", recall=own.recall
        )
    return State.of_documents(documents, models, lists, settings)


def _probes(lists: RankedLists, collection: Collection) -> Probes | None:
    """Return probes of an encoder that was given as a function."""
    if lists.spelling is not None or not isinstance(lists.ranker, EncoderRanker) or lists.fit is None:
        return None
    fitted: Any = lists.fit()
    items: Any = collection.part(lists.ranker.part)
    return Probes.of(lists.ranker, items, fitted.vectors)


def _over(ranks: Ranks, ids: Ids) -> Ranks:
    """Return lists over the items of a collection, a row for each; a file may have them in another order."""
    inside = ranks.renumbered(ids)
    query_ids = inside.query_ids or ids
    if query_ids == ids:
        return inside
    rows = [query_ids.number(id) if id in query_ids else -1 for id in ids]
    return inside.spread(np.array(rows, np.intp), ids)
