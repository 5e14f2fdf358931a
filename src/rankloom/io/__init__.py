"""Readers and writers of Ranks: TREC runs and judgments, UDLF text, NumPy arrays, pandas, polars."""

from rankloom.io.atomic_file import atomic_write, check_target
from rankloom.io.formats import FORMATS, format_of, read_ranks, write_ranks
from rankloom.io.frames import from_frame, qrels_from_frame, to_pandas, to_polars
from rankloom.io.labels import read_ids, read_labels
from rankloom.io.matrix import read_matrix
from rankloom.io.npz import pack_ids, read_npz, unpack_ids, write_npz
from rankloom.io.trec import read_qrels, read_run, read_runs, write_run
from rankloom.io.udlf import read_udlf_matrix, read_udlf_ranks, write_udlf_ranks

__all__ = [
    "FORMATS",
    "atomic_write",
    "check_target",
    "format_of",
    "from_frame",
    "pack_ids",
    "qrels_from_frame",
    "read_ids",
    "read_labels",
    "read_matrix",
    "read_npz",
    "read_qrels",
    "read_ranks",
    "read_run",
    "read_runs",
    "read_udlf_matrix",
    "read_udlf_ranks",
    "to_pandas",
    "to_polars",
    "unpack_ids",
    "write_npz",
    "write_ranks",
    "write_run",
    "write_udlf_ranks",
]
