#!/usr/bin/env python3
# ratio: the faster of scikit-learn's and scikit-learn-intelex's PCA (covariance_eigh) over assay-pca, all components, 2 threads
# target: >= 1.5
# or: analytics_pca_syrk
# pairs: 6
from support import analytics

files = analytics.data("normal")
peers = [analytics.Peer("pca", "--threads", 2, *files, *more) for more in ([], ["--intelex"])]
analytics.against(peers, "assay-pca", ["--threads", 2, "--max-time", 1], analytics.pairs_asked(6), 3)
