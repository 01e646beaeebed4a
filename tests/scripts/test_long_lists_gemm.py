#!/usr/bin/env python3
# full: every matrix multiplication of every shipped list, verified and briefly timed
"""No problem of a list may be refused, fail or be wrong."""
import json
import os

from run_helper import SOURCE, RunTest, main


class LongListsOfMultiplications(RunTest):
    def test_every_problem(self):
        shipped = {file.stem: json.loads(file.read_text())["problems"]
                   for file in sorted((SOURCE / "suites" / "problems" / "gemm").glob("*.json"))}
        self.assertIn("deepbench-train", shipped)
        lists = os.environ.get("ASSAY_TEST_LISTS", ",".join(shipped)).split(",")
        suite = self.suite([{"benchmark": "gemm", "problem": lists, "precision": ["fp32"], "backend": ["onednn"],
                             "threads": [len(os.sched_getaffinity(0))], "required": True}], timing={"max_time": 0.05, "min_samples": 1})
        environment = self.environment()
        del environment["OMP_NUM_THREADS"]
        self.run_suite(suite, "--timeout", "600", env=environment, code=0)
        self.expect_ok(self.rows(), len({problem["descriptor"] for name in lists for problem in shipped[name]}))


if __name__ == "__main__":
    main()
