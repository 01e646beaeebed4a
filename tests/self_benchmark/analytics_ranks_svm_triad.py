#!/usr/bin/env python3
# ratio: what assay-svm gains by a second rank over what triad gains, 1 thread each
# target: >= 0.85
# or: analytics_ranks
# pairs: 6
from support import analytics

analytics.two_ranks_beside_triad("assay-svm")
