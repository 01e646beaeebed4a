#!/usr/bin/env python3
"""Every injected fault becomes the row that it deserves, and the other cases are finished."""
import json

from run_helper import CONV, SMALL, RunTest, group, last_part, main

EXPECTED = {
    "direct": ("ok", None),
    "wrong_element": ("incorrect", "expected"),
    "wrong_element_late": ("incorrect", "expected"),
    "nan": ("incorrect", ""),
    "inf": ("incorrect", ""),
    "wrong_precision": ("incorrect", ""),
    "throw": ("failed", "asynchronous error (injected)"),
    "crash": ("failed", "in this case"),
    "quit": ("failed", "ended with exit code 0 in this case"),
    "abort_in_make": ("failed", "killed by signal 6 (Aborted) in this case"),
    "hang": ("timeout", "killed after 5 s without a result (raise --timeout if it needs longer)"),
}


class Faults(RunTest):
    def check_row(self, row):
        status, reason = EXPECTED[last_part(row)]
        self.assertEqual(row["status"], status, row["reason"])
        if status == "ok":
            self.assertTrue(row["verification"]["passed"])
            self.assertGreaterEqual(len(row["samples_s"]), 1)
            return
        self.assertIn(reason, row["reason"])
        self.assertIsNone(row["time_s"], "a time of a row that is not ok")
        self.assertEqual(row["samples_s"], [])
        self.assertEqual(row["rates"], {})
        if status == "incorrect":
            self.assertFalse(row["verification"]["passed"])

    def test_each_fault_is_a_row(self):
        suite = self.suite([group(EXPECTED)])
        done = self.run_suite(suite, "--timeout", 5, "--seed", 3)
        self.assertEqual(done.returncode, 3, done.stderr)  # incorrect is graver than failed
        rows = self.rows()
        self.assertEqual(sorted(map(last_part, rows)), sorted(EXPECTED))
        for row in rows:
            with self.subTest(last_part(row)):
                self.check_row(row)
        self.check_file()
        # Four processes died (crash, quit, abort, hang): each relaunch has a number and a plan of its own.
        self.assertEqual(max(row["attempt"] for row in rows), len(list(self.out.glob("plan-0-*.json"))) - 1)
        for word in ("incorrect", "failed", "timeout"):
            self.assertIn(word, done.stdout)
        self.assertEqual(self.children_at_work(), [])

    def test_failed_and_timed_out_rows_alone_exit_7(self):
        suite = self.suite([group(["direct", "crash", "hang"])])
        self.run_suite(suite, "--timeout", 5, "--filter", "/(direct|crash)/", code=7)
        self.assertEqual(sorted(map(last_part, self.rows())), ["crash", "direct"])
        crash = [row for row in self.rows() if last_part(row) == "crash"][0]
        self.assertRegex(crash["reason"], r"killed by signal 11 \(Segmentation fault\)|AddressSanitizer|runtime error")

    def test_what_a_launcher_started_elsewhere_dies_too(self):
        # setsid puts the benchmark into a session of its own, as mpirun does with ranks: out of reach of a group's signal.
        suite = self.suite([group(["direct", "hang"])])
        self.run_suite(suite, "--timeout", 5, "--launcher", "setsid --wait", code=7)
        self.assertEqual(sorted(row["status"] for row in self.rows()), ["ok", "timeout"])
        self.assertEqual(self.children_at_work(), [])

    def test_launches_are_interleaved_and_orders_recorded(self):
        suite = self.suite([group(["direct"], [SMALL, "mb2ic8ih8oc8oh8kh3ph1", "mb3ic8ih8oc8oh8kh3ph1", "mb4ic8ih8oc8oh8kh3ph1"])])
        self.run_suite(suite, "--launches", 3, "--seed", 11, code=0)
        rows = self.rows()
        self.assertEqual([row["launch"] for row in rows], [0] * 4 + [1] * 4 + [2] * 4)
        plans = [json.loads((self.out / f"plan-{n}-0-conv.json").read_text()) for n in range(3)]
        for launch, plan in enumerate(plans):
            self.assertEqual([row["id"] for row in rows if row["launch"] == launch], plan)
        self.assertGreater(len({tuple(plan) for plan in plans}), 1, "every launch had the same order")
        environments = json.loads((self.out / "result.json").read_text())["environments"]
        self.assertEqual([row["environment"] for row in rows], [row["launch"] for row in rows])
        self.assertEqual(len(environments), 3)
        # The same seed gives the same orders again.
        self.out = self.folder / "again"
        self.run_suite(suite, "--launches", 3, "--seed", 11, code=0)
        self.assertEqual([json.loads((self.out / f"plan-{n}-0-conv.json").read_text()) for n in range(3)], plans)

    def test_a_process_that_dies_before_any_case_is_tried_twice(self):
        suite = self.suite([group(["auto"])])  # no fault by name: the plugin is opened by the run, not by the list
        done = self.run_suite(suite, env=self.environment(ASSAY_FAULT="crash_in_create"))
        self.assertEqual(done.returncode, 7, done.stderr)
        rows = self.rows()
        self.assertEqual([row["status"] for row in rows], ["failed"])
        self.assertIn("before this case, twice", rows[0]["reason"])
        self.assertEqual(len(list(self.out.glob("plan-*.json"))), 2)
        self.check_file()

    def test_a_fault_little_above_the_bound_is_seen(self):
        # The honest row's own bound chooses the size: one element out of 512, anywhere, off by three times that.
        suite = self.suite([group(["direct"])])
        self.run_suite(suite, code=0)
        bound = self.rows()[0]["verification"]["bound"]
        self.assertGreater(bound, 0)
        for seed in range(4):
            with self.subTest(seed=seed):
                self.out = self.folder / f"fault-{seed}"
                env = self.environment(ASSAY_FAULT="wrong_element", ASSAY_FAULT_SIZE=str(3 * bound), ASSAY_FAULT_SEED=str(seed))
                self.run_suite(suite, env=env, code=3)

    def test_a_standalone_program_reports_the_same(self):
        file = self.folder / "x.json"
        self.command(CONV, "--problem", SMALL, "--backend", "faulty", "--algorithm", "direct,wrong_element_late,throw", "--threads", 1,
                     "--max-time", 0.02, "--out", file, code=3)
        for row in json.loads(file.read_text())["rows"]:
            self.check_row(row)


if __name__ == "__main__":
    main(verbosity=2)
