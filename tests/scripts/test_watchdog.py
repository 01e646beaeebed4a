#!/usr/bin/env python3
"""The watchdog ends a case that hangs: it waits for nobody, and counts nothing that comes while a job is being ended.
"""
import json
import pathlib
import signal
import sys

from run_helper import ASSAY, DEADLINE, SMALL, RunTest, group, last_part, main

PROBLEMS = [f"mb{n}ic8ih8oc8oh8kh3ph1" for n in range(1, 6)]

# A launcher of one rank. It does its mischief to the first process that keeps a journal, once that has begun a case.
LAUNCHER = """
import fcntl, os, signal, subprocess, sys, time
job = subprocess.Popen(sys.argv[1:], start_new_session=True)  # as those do that start ranks
if "--journal" not in sys.argv or sys.argv[sys.argv.index("--attempt") + 1] != "0":
    sys.exit(job.wait())
journal = open(sys.argv[sys.argv.index("--journal") + 1])
while '"begin"' not in journal.read():
    time.sleep(0.01)
"""
# As a rank does that is stopped while it appends.
HOLDS_THE_JOURNAL = LAUNCHER + """
fcntl.flock(journal, fcntl.LOCK_EX)
os.kill(os.getpid(), signal.SIGSTOP)
"""
# As those do that let stopped ranks go on before they end them.
RESUMES_THE_STOPPED = LAUNCHER + """
signal.signal(signal.SIGTERM, lambda *_: job.send_signal(signal.SIGCONT))
job.send_signal(signal.SIGSTOP)
job.wait()
"""


class Watchdog(RunTest):
    def launcher(self, text):
        file = self.folder / "launcher.py"
        file.write_text(text)
        return ["--launcher", f"{sys.executable} {file}"]

    def test_a_job_that_is_stopped_with_the_journal_in_its_hands(self):
        process = self.start_suite(self.suite([group(["hang"])]), "--timeout", 3, *self.launcher(HOLDS_THE_JOURNAL))
        self.assertEqual(process.wait(timeout=DEADLINE), 7)
        (row,) = self.rows()
        self.assertEqual(row["status"], "timeout")
        self.assertRegex(row["reason"], r"a process \(process \d+ on \S+\) is stopped")
        self.assertEqual(self.children_at_work(), [])

    def test_rows_of_a_job_that_is_being_ended_do_not_count(self):
        # A sample for each iteration, and enough of them that the process is stopped in the midst of its first case.
        suite = self.suite([group(["direct"], PROBLEMS)], timing={"max_time": 0.5, "precision_target": 1e-9})
        words = ["--timeout", 4, *self.launcher(RESUMES_THE_STOPPED)]
        self.run_suite(suite, *words, code=7)
        late = [row for row in self.journal_rows() if row["attempt"] == 0 and row["status"] == "ok"]
        self.assertGreater(len(late), 1, "nothing came while it was being ended: this tests nothing")
        rows = self.rows()
        self.assertEqual(sorted(row["status"] for row in rows), ["ok"] * 4 + ["timeout"])
        self.assertEqual({row["attempt"] for row in rows if row["status"] == "ok"}, {1})
        self.check_file()
        # The same of a result that is made later, of the journal alone.
        self.command(ASSAY, "recover", self.out / "journal.jsonl", "--out", self.folder / "again.json", code=0)
        self.assertEqual(json.loads((self.folder / "again.json").read_text())["rows"], rows)
        # A resumed run tries the case again that was ended; what a job wrote while it was ended still does not count.
        self.run_suite(suite, "--resume", *words, code=0)
        self.assertEqual(self.rows()[:len(rows)], rows)
        self.assertEqual([row["status"] for row in self.rows()[len(rows):]], ["ok"])

    def test_rows_of_a_job_that_is_ended_by_hand_do_not_count(self):
        suite = self.suite([group(["direct"], PROBLEMS)], timing={"max_time": 0.5, "precision_target": 1e-9})
        launcher = self.launcher(RESUMES_THE_STOPPED)
        process = self.start_suite(suite, *launcher)
        self.wait_until(lambda: "T" in self.states_of_children(), process)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=DEADLINE), 7)
        self.assertEqual(self.children_at_work(), [])
        (left,) = [event for event in self.journal() if event["event"] == "given_up"]
        written = [row["id"] for row in self.journal_rows()]
        self.assertGreater(len(written), left["rows"], "nothing came while it was being ended: this tests nothing")
        # The journal's launcher is not executed unless it is given again.
        self.assertIn("launcher was", self.run_suite(suite, "--resume", code=2).stderr)
        self.run_suite(suite, "--resume", *launcher, code=0)
        self.assertEqual({row["id"]: row["attempt"] for row in self.rows()},
                         {row["id"]: 0 if row["id"] in written[:left["rows"]] else 1 for row in self.rows()})
        self.assertEqual(len(self.rows()), len(PROBLEMS))
        self.check_file()

    def states_of_children(self):
        states = ""
        for process in self.children_at_work():
            try:
                states += pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
            except OSError:
                pass
        return states

    def test_a_row_does_not_quote_the_case_before(self):
        suite = self.suite([group(["mutter"], PROBLEMS), group(["hang", "mutter_and_abort"])])
        self.run_suite(suite, "--timeout", 3, "--seed", 1, code=7)
        plan = [row["parameters"]["algorithm"] for row in self.rows()]
        for name in ("hang", "mutter_and_abort"):
            self.assertEqual(plan[plan.index(name) - 1], "mutter", "choose another seed")
        for row in self.rows():
            if last_part(row) == "hang":
                self.assertTrue(row["reason"].endswith("(raise --timeout if it needs longer)"), row["reason"])
            elif last_part(row) == "mutter_and_abort":
                self.assertIn("It said: muttered (injected)", row["reason"])
                self.assertEqual(row["reason"].count("muttered"), 1, row["reason"])
            else:
                self.assertEqual(row["status"], "ok", row["reason"])


if __name__ == "__main__":
    main(verbosity=2)
