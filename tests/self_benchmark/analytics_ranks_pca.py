#!/usr/bin/env python3
# ratio: assay-pca on 1 rank over 2 ranks, 1 thread each
# target: >= 1.7
# or: analytics_ranks_pca_triad
# pairs: 6
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
import analytics  # noqa: E402

analytics.two_ranks("assay-pca")
