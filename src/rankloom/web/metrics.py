"""What the service counts, for Prometheus; several workers count in files that they share."""

from __future__ import annotations

import os
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # prometheus-client reads it when it is imported
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15)


class Metrics:
    """Counters, gauges and times of one process."""

    def __init__(self) -> None:
        self._registry = own = CollectorRegistry()
        labels = ("route", "status")
        self.seconds = Histogram("rankloom_request_seconds", "Time of requests.", labels, registry=own, buckets=BUCKETS)
        self.searches = Counter("rankloom_searches", "Searches by POST /search, by method.", ["method"], registry=own)
        self.rejected = Counter(
            "rankloom_rejected", "Requests refused because of load, by lane.", ["lane"], registry=own
        )
        self.reload_failures = Counter(
            "rankloom_reload_failures", "New versions that could not be opened.", registry=own
        )
        self.queue = _gauge(own, "queue", "Tasks that run or wait, by lane.", "livesum", "lane")
        self.documents = _gauge(own, "index_documents", "Documents served.", "livemax")
        self.n_bytes = _gauge(own, "index_bytes", "Size of the folder served.", "livemax")
        self.generation = _gauge(own, "index_generation", "Generation of the folder served.", "livemin")
        self.written = _gauge(own, "index_timestamp_seconds", "When that generation was written.", "livemin")

    def count_search(self, method: str) -> None:
        """Count a search by a method, given with its options."""
        self.searches.labels(method.partition("(")[0]).inc()

    def scrape(self) -> bytes:
        """Return the metrics of all workers in the format of Prometheus."""
        if FOLDER not in os.environ:
            return generate_latest(self._registry)
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)


def _gauge(registry: CollectorRegistry, name: str, about: str, mode: str, *labels: str) -> Gauge:
    return Gauge(f"rankloom_{name}", about, labels, registry=registry, multiprocess_mode=mode)  # type: ignore[arg-type]


def forget_worker(pid: int, folder: Path) -> None:
    """Drop the gauges of a process that has ended; what it counted stays."""
    mark_process_dead(pid, str(folder))  # type: ignore[no-untyped-call]
