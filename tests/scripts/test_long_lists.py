#!/usr/bin/env python3
# full: every problem of every shipped list, in every direction, verified and briefly timed
"""The lists as they are used: no problem of them may be refused, fail or be wrong."""
import collections
import os

from run_helper import SOURCE, RunTest, group, main

# Batches that two cores and 24 GiB can do; what a list does not name is run as it stands.
OVERRIDES = {"resnet50": "@mb2"}


class LongLists(RunTest):
    def test_every_problem(self):
        lists = sorted(file.stem for file in (SOURCE / "suites" / "problems" / "conv").glob("*.json"))
        self.assertIn("deepbench-train", lists)
        problems = [name + OVERRIDES.get(name, "") for name in os.environ.get("ASSAY_TEST_LISTS", ",".join(lists)).split(",")]
        suite = self.suite([group(["auto"], problems, backend="onednn", direction=["forward", "bwd_data", "bwd_weights"],
                                  precision=["fp32"], threads=[len(os.sched_getaffinity(0))], required=True)],
                           timing={"max_time": 0.05, "min_samples": 1})
        environment = self.environment()
        del environment["OMP_NUM_THREADS"]
        done = self.run_suite(suite, "--timeout", "600", env=environment)
        states = collections.Counter(row["status"] for row in self.rows())
        wrong = [(row["id"], row["reason"]) for row in self.rows() if row["status"] != "ok"]
        self.assertEqual(wrong, [], f"{states}\n{done.stderr[-2000:]}")
        self.assertEqual(done.returncode, 0)
        self.assertGreaterEqual(states["ok"], 3 * len(problems))


if __name__ == "__main__":
    main()
