"""What is lost where only the heaviest terms of an item are its query."""

MAX_TERMS = 25
RANKERS = ("okapi", "bow-cosine", "bow-jaccard")


def loss(quick):
    """Return NDCG@10 of each ranker and of FG on Ohsumed, with whole texts and with few terms."""
    import rankloom as rl
    from rankloom.rankers import RANKERS as BY_NAME

    collection = rl.open_collection("ohsumed")
    n = 1_000 if quick else 16_000
    documents, labels = list(collection.parts["texts"][:n]), collection.labels[:n]
    rows = []
    for options in ({}, {"max_terms": MAX_TERMS}):
        ranks = [BY_NAME[name](**options).fit(documents).rank(depth=100) for name in RANKERS]
        fused = rl.FusionIndex.build(ranks).search(k=10)
        named = dict(zip((*RANKERS, "FG"), (*ranks, fused), strict=True))
        values = {name: rl.evaluate(one, labels=labels, measures=["ndcg@10"])["ndcg@10"] for name, one in named.items()}
        rows.append({"query": f"max_terms={MAX_TERMS}" if options else "whole text", **values})
    return rows
