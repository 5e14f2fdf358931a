"""Measures and selections that are not spelled right: one sentence that says what to write."""

import pytest

from rankloom.errors import InputError
from rankloom.evaluation import MEASURES, Measure
from rankloom.evaluation.selection import Selection

NAMES = ", ".join(sorted(MEASURES))
WRONG_MEASURES = {
    "ncdg@10": f"Unknown measure 'ncdg'; choose from {NAMES}. Did you mean 'ndcg'?",
    "P@10": f"Unknown measure 'P'; choose from {NAMES}. Did you mean 'p'?",
    "": f"Unknown measure ''; choose from {NAMES}.",
    "iprec": "The measure iprec needs a cutoff, as in iprec@0.1; got none.",
    "iprec@ten": "The level of recall of a measure must be a number from 0 to 1; got iprec@ten.",
    "iprec@2": "The level of recall of the measure iprec must be from 0 to 1; got 2.0.",
    "rbp(q=0.5)": "The measure 'rbp' has no option 'q'; it has p.",
    "rbp(p=high)": "p of the measure 'rbp' must be a finite number; got 'high'.",
    "ndcg(p=0.5)@10": "The measure 'ndcg' has no option 'p'; it has gain.",
    "p": "The measure p needs a cutoff, as in p@10; got none.",
    "recall": "The measure recall needs a cutoff, as in recall@10; got none.",
    "ns@4": "The measure ns takes no cutoff; got ns@4. Write ns.",
    "ndcg@": "The cutoff of a measure must be a whole number, at least 1; got ndcg@.",
    "ndcg@0": "The cutoff of the measure ndcg must be a whole number, at least 1; got 0.",
    "ndcg@-3": "The cutoff of a measure must be a whole number, at least 1; got ndcg@-3.",
    "ndcg@ten": "The cutoff of a measure must be a whole number, at least 1; got ndcg@ten.",
}
WRONG_SELECTIONS = {
    "bets(2)": "Unknown selection 'bets'; choose from all, best, only, pair. Did you mean 'best'?",
    "best": "The selection best needs a count, as in best(2); got none.",
    "best(0)": "The count of the selection best must be a whole number, at least 1; got 0.",
    "best(authority)": "The selection best needs a count, as in best(2); got none.",
    "best(2, autority)": "Unknown estimate 'autority'; choose from authority, reciprocal. Did you mean 'authority'?",
    "pair(2)": "The selection pair takes no count; got pair(2).",
    "all(authority)": "The selection all needs no estimate; got all(authority). Write all.",
    "best(2, 3)": "A selection takes at most one count and one estimate; got 'best(2, 3)'.",
    "best(2": "Write a selection as pair, best(2) or best(2, authority); got 'best(2'.",
    "best()": "Write a selection as pair, best(2) or best(2, authority); got 'best()'.",
    "": "Write a selection as pair, best(2) or best(2, authority); got ''.",
}


@pytest.mark.parametrize(
    ("parse", "text", "message"),
    [
        *((Measure.parse, *pair) for pair in WRONG_MEASURES.items()),
        *((Selection.parse, *pair) for pair in WRONG_SELECTIONS.items()),
    ],
)
def test_a_wrong_spelling_is_one_sentence(parse, text, message):
    with pytest.raises(InputError) as error:
        parse(text)
    assert str(error.value) == message
