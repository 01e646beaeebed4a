#!/usr/bin/env python3
# full: every recurrent network of every shipped list, in every direction, verified and briefly timed
"""No network of a list may be refused, fail or be wrong. Only the first steps of long sequences are run: all others do
the same."""
import json
import os

from run_helper import SOURCE, RunTest, main

MOST_STEPS = 5  # whole, the lists take hours on two cores


class LongListsOfNetworks(RunTest):
    def test_every_problem(self):
        shipped = {file.stem: json.loads(file.read_text())["problems"]
                   for file in sorted((SOURCE / "suites" / "problems" / "rnn").glob("*.json"))}
        self.assertIn("deepbench-train", shipped)
        problems = set()
        for name in os.environ.get("ASSAY_TEST_LISTS", ",".join(shipped)).split(","):
            for problem in shipped[name]:
                *network, steps = problem["descriptor"].split("-")
                problems.add("-".join([*network, str(min(int(steps), MOST_STEPS))]))
        suite = self.suite([{"benchmark": "rnn", "problem": sorted(problems), "direction": ["forward_inference", "forward_training", "bwd"],
                             "precision": ["fp32"], "backend": ["onednn", "native"], "input": ["linear"],
                             "threads": [len(os.sched_getaffinity(0))], "required": True}], timing={"max_time": 0.05, "min_samples": 1})
        environment = self.environment()
        del environment["OMP_NUM_THREADS"]
        self.run_suite(suite, "--timeout", "600", env=environment, code=0)
        self.expect_ok(self.rows(), 6 * len(problems))


if __name__ == "__main__":
    main()
