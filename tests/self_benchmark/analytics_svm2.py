#!/usr/bin/env python3
# ratio: scikit-learn's LinearSVC over assay-svm, 2 threads, objective within 1e-3 of the optimum (or LinearSVC before it: no more passes are tried after a fit of 5 s)
# target: >= 5
# pairs: 6
from support import analytics

files = analytics.data("classes")
metrics = analytics.row_of("assay-svm", "--gap", "1e-6", "--threads", 2, "--max-time", 0.001)[0]["metrics"]
optimum = metrics["objective"]["value"] * (1 - metrics["duality_gap"]["value"])
peer = analytics.Peer("svm", "--threads", 2, *files, "--optimum", repr(optimum), "--longest", 5)
analytics.against([peer], "assay-svm", ["--threads", 2, "--max-time", 2], analytics.pairs_asked(6), 1)
