#!/usr/bin/env python3
# ratio: peak memory of assay-pca, assay-kmeans and assay-svm, verification included, over the table, the worst
# target: <= 1.25
# pairs: 6
# statistic: max
from support import analytics

TABLE = analytics.ROWS * analytics.FEATURES * 8
CASES = (["assay-pca"], ["assay-pca", "--algorithm", "tsqr"], ["assay-kmeans"], ["assay-kmeans", "--clusters", 16], ["assay-svm"],
         ["assay-svm", "--algorithm", "nelder_mead", "--evaluations", 20])
peaks = [analytics.row_of(*case, "--threads", 2, "--max-time", 0.001)[1] for case in CASES]
analytics.tell(pairs=[[peak, TABLE] for peak in peaks], unit="bytes",
               note="; ".join(f"{' '.join(map(str, case))} {peak / TABLE:.3f}" for case, peak in zip(CASES, peaks)))
