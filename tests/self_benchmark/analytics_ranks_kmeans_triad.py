#!/usr/bin/env python3
# ratio: what assay-kmeans gains by a second rank over what triad gains, 1 thread each
# target: >= 0.85
# or: analytics_ranks_kmeans
# pairs: 6
from support import analytics

analytics.two_ranks_beside_triad("assay-kmeans")
