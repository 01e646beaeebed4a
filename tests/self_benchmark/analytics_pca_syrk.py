#!/usr/bin/env python3
# ratio: assay-pca's rate, all components, over the best rate of syrk of the table here, 2 threads
# target: >= 0.85
# or: analytics_pca
# pairs: 6
from support import analytics

WORDS = ["--threads", 2, "--max-time", 1]
SYRK = f"syrk:{analytics.SIZE}"


def syrk(backend):
    return analytics.seconds_of("assay-linalg", "--backend", backend, *WORDS, problem=SYRK)


# The operations of syrk are those that PCA counts with, so their rates are as the seconds.
backend = analytics.best_of([name for name in ("native", "blas") if analytics.has_backend(name)], syrk)
analytics.tell(pairs=analytics.alternate(analytics.pairs_asked(6), lambda: syrk(backend), lambda: analytics.seconds_of("assay-pca", *WORDS)),
               unit="s", note=f"syrk by {backend}; {analytics.SIZE}, fp64")
