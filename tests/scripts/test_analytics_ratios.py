#!/usr/bin/env python3
# full
"""The ratios of PCA, K-means and SVM come to an end on a small table: the claims themselves are about a large one."""
import json
import sys

from run_helper import BUILD, SOURCE, RunTest, main

FOLDER = SOURCE / "tests" / "self_benchmark"
REASONS = ["the machine is too busy", "not installed", "mpirun"]


class AnalyticsRatios(RunTest):
    def test_each_prints_its_pairs(self):
        scripts = sorted(FOLDER.glob("analytics_*.py"))
        self.assertGreater(len(scripts), 5)
        for script in scripts:
            with self.subTest(script.stem):
                environment = self.environment(ASSAY_PLUGIN_PATH=str(BUILD / "lib" / "assay"), ASSAY_BUILD_DIR=str(BUILD))
                environment.pop("OMP_NUM_THREADS")
                told = json.loads(self.command(sys.executable, script, "--pairs", 2, "--size", "n8192d50", env=environment, code=0).stdout)
                if "skip" in told:
                    self.assertTrue(any(reason in told["skip"] for reason in REASONS), told["skip"])
                    continue
                self.assertGreaterEqual(len(told["pairs"]), 2)
                for pair in told["pairs"]:
                    self.assertEqual(len(pair), 2)
                    self.assertGreater(min(pair), 0)


if __name__ == "__main__":
    main()
