"""What is counted. With several workers Prometheus shares it over a directory of files."""

import os

from prometheus_client import Counter, Gauge, Histogram


def shared_directory() -> str | None:
    """Where the workers of one server keep their numbers, None for a single worker."""
    return os.environ.get("PROMETHEUS_MULTIPROC_DIR")


REQUESTS = Counter(
    "samedeal_http_requests_total", "REST requests by method, path template and status.",
    ["method", "path", "status"],
)  # fmt: skip
SECONDS = Histogram(
    "samedeal_http_seconds", "Time from a request's head to its reply's.", ["path"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5),
)  # fmt: skip
SOCKETS = Gauge("samedeal_sockets", "Open sockets.", multiprocess_mode="livesum")
FAULTS = Counter("samedeal_faults_total", "Errors that were not a client's.", ["where"])
