#!/usr/bin/env python3
# ratio: the faster of scikit-learn's and scikit-learn-intelex's times of ten of Lloyd's iterations over assay-kmeans's, k = 3, 2 threads
# target: >= 2
# or: analytics_kmeans3_triad
# pairs: 6
from support import analytics

# Without clusters in them neither side's centroids rest within ten iterations.
files = analytics.data("normal")
start = ",".join(str(analytics.ROWS // 20 * row) for row in range(3))
peers = [analytics.Peer("kmeans", "--threads", 2, *files, "--start", start, *more) for more in ([], ["--intelex"])]
analytics.against(peers, "assay-kmeans", ["--data", "normal", "--clusters", 3, "--threads", 2, "--max-time", 2],
                  analytics.pairs_asked(6), 3)
