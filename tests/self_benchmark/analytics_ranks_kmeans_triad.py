#!/usr/bin/env python3
# ratio: what assay-kmeans gains by a second rank over what triad gains, 1 thread each
# target: >= 0.85
# or: analytics_ranks_kmeans
# pairs: 6
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
import analytics  # noqa: E402

analytics.two_ranks_beside_triad("assay-kmeans")
