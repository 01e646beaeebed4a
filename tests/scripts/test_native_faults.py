#!/usr/bin/env python3
"""A wrong element, a late one and a wrong precision are seen in each algorithm and direction of the native convolutions."""
import unittest

from run_helper import RunTest, group, last_part

PROBLEM = "mb2ic32ih8oc32oh8kh3ph1"
EVERYWHERE = ["forward", "bwd_data", "bwd_weights"]
DIRECTIONS = {"implicit_gemm": EVERYWHERE, "winograd_2x2": EVERYWHERE[:2], "winograd_4x4": EVERYWHERE[:2]}
FAULTS = ["wrong_element", "wrong_element_late", "nan", "wrong_precision"]


class NativeFaults(RunTest):
    def test_each_fault_is_seen(self):
        for algorithm, directions in DIRECTIONS.items():
            with self.subTest(algorithm):
                self.out = self.folder / algorithm
                suite = self.suite([group([*FAULTS, algorithm], [PROBLEM], direction=directions)], name=algorithm)
                env = self.environment(ASSAY_FAULT_INNER="native", ASSAY_FAULT_ALGORITHM=algorithm)
                self.run_suite(suite, env=env, code=3)
                rows = self.rows()
                self.assertEqual(len(rows), len(directions) * (len(FAULTS) + 1))
                for row in rows:
                    with self.subTest(row["id"]):
                        honest = last_part(row) == algorithm
                        self.assertEqual(row["status"], "ok" if honest else "incorrect", row["reason"])
                        self.assertEqual(row["verification"]["passed"], honest)


if __name__ == "__main__":
    unittest.main(verbosity=2)
