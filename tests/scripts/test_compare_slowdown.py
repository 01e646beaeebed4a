#!/usr/bin/env python3
# full
"""A real slowdown of one kernel on this machine: `assay compare` finds that row, and no other."""

from run_helper import BUILD, RunTest, main
import two_builds

PROBLEMS = ["mb1ic16ih16oc16oh16kh3ph1", "mb1ic8ih32oc16oh32kh3ph1", "mb1ic32ih16oc32oh16kh1"]
SLOW = 0.3  # so large that a machine which others use shows it too


class Slowdown(RunTest):
    def test_is_found_where_it_is(self):
        slow = two_builds.build_with(BUILD, self.folder / "slow", ASSAY_FAULT="slow", ASSAY_FAULT_SLOW=SLOW,
                                     ASSAY_FAULT_PROBLEM=PROBLEMS[1])
        document = two_builds.compared(BUILD, two_builds.suite(self.folder, PROBLEMS, "faulty"), self.folder, slow)
        verdicts = {next(p for p in PROBLEMS if p in row["id"]): row for row in document["rows"]}
        self.assertEqual(sorted(verdicts), sorted(PROBLEMS))
        found = verdicts[PROBLEMS[1]]
        self.assertEqual((found["verdict"], found["stage"], found["detected"]), ("slower", "confirmed", True), found)
        self.assertGreater(found["interval"][1], 1 + SLOW * 0.8, found)
        for problem in (PROBLEMS[0], PROBLEMS[2]):  # on a busy machine inconclusive, never slower or faster
            self.assertIn(verdicts[problem]["verdict"], ("same", "inconclusive"), verdicts[problem])
        self.assertEqual(document["exit_code"], 4)
        self.assertEqual(document["notes"], [], "the sides alternated")


if __name__ == "__main__":
    main(verbosity=2)
