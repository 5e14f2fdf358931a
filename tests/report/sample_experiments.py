"""Made-up experiments to report together: Soccer by ndcg@10, UKBench by ns, with the names of the paper's rankers."""

from dataclasses import replace

import numpy as np
from sample_results import ABOUT, specification, values

from rankloom.experiment import results as rec
from rankloom.experiment.results import Results

SOCCER = {"BIC": 0.61, "ACC": 0.59, "GCH": 0.53}
UKBENCH = {"VOC": 3.4, "ACC": 3.3, "CNN-Caffe": 3.2}
METHODS = {"fg": 1.06, "rrf": 1.01, "combsum": 0.99}  # times the best ranker


def measured(mean, measure, shift=0):
    return {measure: values(mean, shift=shift)["ndcg@10"]}


def experiment(name, collection, measure, rankers, methods=METHODS, pairs=None, **spec):
    """Return the results of an experiment with two selections, all and best(2)."""
    names, best = tuple(rankers), max(rankers.values())
    given = {"collection": collection, "name": name, "measures": [measure], **spec}
    records = [
        rec.RankerRecord(one, measured(value, measure, i), {}, 0.1) for i, (one, value) in enumerate(rankers.items())
    ]
    kinds = ("jaccard", "kendall", "spearman")
    records += [rec.CorrelationRecord(kind, 10, names, np.eye(len(names))) for kind in kinds]
    for shift, (selection, chosen) in enumerate((("all", names), ("best(2)", names[:2]))):
        records.append(rec.SelectionRecord(selection, chosen))
        for i, (method, factor) in enumerate(methods.items()):
            fused = measured(best * (factor + 0.01 * shift), measure, 5 + i)
            records.append(rec.MethodRecord(selection, chosen, method, fused, 0.1))
    for kind, (chosen, factor) in (pairs or {}).items():
        records.append(rec.PairRecord(kind, chosen, "fg", measured(best * factor, measure)))
    for method in ("fg", "rrf"):
        for cutoff in (2, 10, 20):
            records.append(rec.CutoffRecord(method, cutoff, measured(best * (1 - 0.1 / cutoff), measure), 0.1))
    about = {**ABOUT, "collection": f"{collection}: a description"}
    return Results(specification(names, tuple(methods), **given), about, tuple(records))


def soccer(name="Soccer", **more):
    pairs = {
        "jaccard": (("BIC", "GCH"), 1.02),
        "kendall": (("BIC", "ACC"), 1.01),
        "spearman": (("BIC", "GCH"), 1.02),
    }
    return experiment(name, "soccer", "ndcg@10", SOCCER, **{"pairs": pairs, **more})


def ukbench(name="UKBench", **more):
    pair = (("VOC", "ACC"), 1.03)
    pairs = dict.fromkeys(("jaccard", "kendall", "spearman"), pair)
    return experiment(name, "ukbench", "ns", UKBENCH, **{"pairs": pairs, **more})


def with_measure(results, measure):
    """Return the results with a second measure, half of the first."""
    records = [
        replace(one, values={**one.values, measure: one.values[results.main] / 2}) if hasattr(one, "values") else one
        for one in results.records
    ]
    measures = (*map(str, results.experiment.measures), measure)
    spec = type(results.experiment).from_dict({**results.experiment.to_dict(), "measures": list(measures)})
    return Results(spec, results.about, tuple(records))


def write(folder, **found):
    """Write results to folders named after the keywords and return the folders."""
    for name, results in found.items():
        (folder / name).mkdir(parents=True)
        results.write(folder / name)
    return [folder / name for name in found]
