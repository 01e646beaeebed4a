#!/usr/bin/env python3
# ratio: assay-pca on 1 rank over 2 ranks, 1 thread each
# target: >= 1.7
# or: analytics_ranks_pca_triad
# pairs: 6
from support import analytics

analytics.two_ranks("assay-pca")
