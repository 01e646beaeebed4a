#!/usr/bin/env python3
# ratio: the faster of scikit-learn's and scikit-learn-intelex's PCA (covariance_eigh) over assay-pca, all components, 2 threads
# target: >= 1.5
# or: analytics_pca_syrk
# pairs: 6
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
import analytics  # noqa: E402

files = analytics.data("normal")
peers = [analytics.Peer("pca", "--threads", 2, *files, *more) for more in ([], ["--intelex"])]
analytics.against(peers, "assay-pca", ["--threads", 2, "--max-time", 1], analytics.pairs_asked(6), 3)
