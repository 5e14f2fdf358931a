"""The steps of a search by vote: CPU milliseconds of each, one query at a time.

RANKLOOM_DATA=data python benchmarks/vote_steps.py 18302
"""

import json
import subprocess
import sys
import time

import numpy as np
from documents import documents, title_queries

RANKERS, N_QUERIES, WARM = ("bm25", "static"), 300, 20


def steps(sizes):
    """Return a row for each number of documents, each measured in its own process."""
    commands = [[sys.executable, __file__, str(n)] for n in sizes]
    return [json.loads(subprocess.run(one, stdout=subprocess.PIPE, check=True).stdout) for one in commands]


def measure(n):
    """Return what each step of a search takes, and the seconds of the self-test."""
    import rankloom as rl
    from rankloom.searcher.answering import encoded, query_lists
    from rankloom.searcher.queries import external_queries
    from rankloom.searcher.self_test import guard_of
    from rankloom.weft.votes import NEIGHBORS_WEIGHT, VOTE_DEPTH, Rules, Voter

    def ballots(lists, found):
        """Return the votes for the lists of a query, and its list by weft."""
        listed, voters = np.unique(np.concatenate([one.items[0] for one in (*lists, found)])), []
        for name, own in zip(RANKERS, lists, strict=True):
            traits = state.retrievers[name].traits
            voters.append(Voter(own, state.nearest(name, listed[listed >= 0]), traits.symmetric, traits.exhaustive))
        return index.ballots(voters, found, 10, Rules(NEIGHBORS_WEIGHT, n))

    texts = documents(n)
    searcher = rl.Searcher.build(texts, rankers=RANKERS, self_test=False)
    state = searcher.state
    index, words = state.weft(RANKERS), title_queries(texts, N_QUERIES + WARM)
    for text in words[:WARM]:
        searcher.search(text)
    row, batches = {"documents": n}, [external_queries([text], None, None) for text in words[WARM:]]
    row["encode ms"], batches = milliseconds(lambda one: encoded(state, one, RANKERS), batches)
    lists = []
    for name in RANKERS:
        work = lambda one, name=name: query_lists(state, one, [name], VOTE_DEPTH)[name]  # noqa: E731
        row[f"{name} ms"], found = milliseconds(work, batches)
        lists.append(found)
    pairs = list(zip(*lists, strict=True))
    row["weft's list ms"], found = milliseconds(lambda pair: index.vote_list(pair, VOTE_DEPTH), pairs)
    row["votes ms"], _ = milliseconds(lambda both: ballots(*both), list(zip(pairs, found, strict=True)))
    whole, _ = milliseconds(searcher.search, words[WARM:])
    row["the rest ms"] = whole - sum(value for name, value in row.items() if name.endswith("ms"))
    row["whole search ms"] = whole
    start = time.process_time()
    guard_of(state, min_sources=1)
    return {**row, "self-test s": time.process_time() - start}


def milliseconds(work, queries):
    """Return the mean CPU milliseconds of a query, and what was returned."""
    start = time.process_time()
    found = [work(one) for one in queries]
    return (time.process_time() - start) / len(queries) * 1e3, found


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
