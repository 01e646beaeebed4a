#!/usr/bin/env python3
# ratio: assay-kmeans's bytes per second, k = 3, over those of triad, 2 threads
# target: >= 0.7
# or: analytics_kmeans3
# pairs: 6
from support import analytics

TRIAD = analytics.triad_words("--threads", 2)
PASSES = 10  # iterations, each of which reads the table once


def triad():
    """Seconds in which triad moves what the iterations read."""
    row, _ = analytics.row_of("assay-stream", *TRIAD, problem="triad")
    return PASSES * 8 * analytics.ROWS * analytics.FEATURES * row["time_s"]["median"] / row["problem"]["bytes"]


def kmeans():
    return analytics.seconds_of("assay-kmeans", "--data", "normal", "--clusters", 3, "--iterations", PASSES, "--threads", 2, "--max-time", 2)


analytics.tell(pairs=analytics.alternate(analytics.pairs_asked(6), triad, kmeans), unit="s",
               note=f"{' '.join(map(str, TRIAD))}; {analytics.SIZE}, fp64")
