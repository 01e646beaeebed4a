#!/usr/bin/env python3
"""However a run ends, its finished rows stay, and --resume repeats only the rest."""
import fcntl
import json
import os
import resource
import signal
import subprocess

from run_helper import ASSAY, SMALL, RunTest, event_of, group, line_of, main

PROBLEMS = [f"mb{n}ic8ih8oc8oh8kh3ph1" for n in range(1, 7)]
HONEST = {"ASSAY_FAULT_OFF": "1"}


class Resume(RunTest):
    def begun(self):
        return [event["id"] for event in self.journal() if event["event"] == "begin"]

    def start_and_wait_for_the_hang(self):
        suite = self.suite([group(["direct"], PROBLEMS), group(["hang"])])
        # A seed whose order has finished cases before the hanging one and others behind it.
        for seed in range(1, 50):
            self.out = self.folder / f"out-{seed}"
            process = self.start_suite(suite, "--seed", seed, "--timeout", 10000)
            self.wait_until(lambda: any("/hang/" in id for id in self.begun()), process)
            if 2 <= len(self.journal_rows()) <= 4:
                return suite, process, seed
            process.kill()
            process.wait()
        self.fail("no such seed")

    def check_only_the_rest_was_run(self, before, expected=len(PROBLEMS) + 1):
        after = self.journal()
        self.assertEqual(after[:len(before)], before, "what stood in the journal was changed")
        finished = {event["row"]["id"] for event in before if event["event"] == "row"}
        again = {event["id"] for event in after[len(before):] if event["event"] == "begin"}
        self.assertFalse(finished & again, "a finished case was run again")
        rows = self.rows()
        self.assertEqual(len(rows), expected)
        self.assertEqual(len({row["id"] for row in rows}), expected)
        self.assertEqual({row["status"] for row in rows}, {"ok"})
        kept = [event["row"]["samples_s"] for event in before if event["event"] == "row"]
        self.assertEqual([row["samples_s"] for row in rows[:len(kept)]], kept)
        self.check_file()

    def test_killed_parent(self):
        suite, process, _ = self.start_and_wait_for_the_hang()
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.wait_until(lambda: not self.children_at_work())  # a benchmark never outlives its parent
        before = self.journal()
        self.assertFalse((self.out / "result.json").exists())
        # A plain second run would mix two runs: both ways out are named.
        done = self.run_suite(suite, code=2)
        self.assertIn("--resume", done.stderr)
        self.assertIn("--out", done.stderr)
        self.assertEqual(self.journal(), before)
        self.run_suite(suite, "--resume", env=self.environment(**HONEST), code=0)
        self.check_only_the_rest_was_run(before)
        # And once more: there is nothing left to do.
        whole = self.journal()
        self.run_suite(suite, "--resume", code=0)
        self.assertEqual([e for e in self.journal()[len(whole):] if e["event"] != "resume"], [])

    def test_a_torn_line_is_no_row(self):
        suite, process, _ = self.start_and_wait_for_the_hang()
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.wait_until(lambda: not self.children_at_work())
        file = self.out / "journal.jsonl"
        whole = file.read_bytes()
        last_row = max(i for i, line in enumerate(whole.split(b"\n")) if b'"event":"row"' in line)
        torn = b"\n".join(whole.split(b"\n")[:last_row + 1])[:-40]
        file.write_bytes(torn)
        rows = sum(json.loads(line)["event"] == "row" for line in torn.split(b"\n")[:-1])
        self.assertGreaterEqual(rows, 1)
        self.run_suite(suite, "--resume", env=self.environment(**HONEST), code=0)
        self.assertEqual(len(self.rows()), len(PROBLEMS) + 1)
        self.check_file()

    def test_signals_end_cleanly(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number.name):
                suite, process, seed = self.start_and_wait_for_the_hang()
                process.send_signal(number)
                self.assertEqual(process.wait(), 7)
                said = (self.folder / "stderr.txt").read_text()
                self.assertIn("--resume", said)
                self.assertEqual(self.children_at_work(), [])
                before = self.journal()
                self.run_suite(suite, "--resume", env=self.environment(**HONEST), code=0)
                self.check_only_the_rest_was_run(before)

    def test_another_run_is_refused(self):
        suite = self.suite([group(["direct"], PROBLEMS[:2])])
        self.run_suite(suite, "--seed", 5, code=0)
        before = self.journal()
        for words in (["--seed", 6], ["--max-time", 3], ["--precision-target", 0.5], ["--min-samples", 3], ["--reference-budget", 1e5]):
            done = self.run_suite(suite, "--resume", *words, code=2)
            self.assertIn("cannot resume", done.stderr)
        self.suite([group(["direct"], PROBLEMS[:3])])
        self.assertIn("suite's content", self.run_suite(suite, "--resume", code=2).stderr)
        self.assertEqual(self.journal(), before)
        # Spaces and order of keys are no content; what is not said again is as it was.
        document = json.loads(self.suite([group(["direct"], PROBLEMS[:2])]).read_text())
        suite.write_text(json.dumps(dict(reversed(document.items())), indent=3))
        self.run_suite(suite, "--resume", code=0)

    def test_more_launches_can_be_added(self):
        suite = self.suite([group(["direct"], PROBLEMS[:2])])
        self.run_suite(suite, code=0)
        self.run_suite(suite, "--resume", "--launches", 3, code=0)
        self.assertEqual(sorted(row["launch"] for row in self.rows()), [0, 0, 1, 1, 2, 2])

    def test_timing_is_handed_on_and_recalled(self):
        suite = self.suite([group(["direct"], PROBLEMS[:1])])
        flags = ["--max-time", 0.03, "--precision-target", 0.5, "--min-samples", 3, "--reference-budget", 1e5, "--timeout", 77]
        self.run_suite(suite, *flags, code=0)
        self.run_suite(suite, "--resume", "--launches", 2, code=0)
        events = self.journal()
        commands = [event["command"] for event in events if event["event"] == "launch"]
        self.assertEqual(len(commands), 2)
        for command in commands:
            for words in ("--max-time 0.03", "--precision-target 0.5", "--min-samples 3", "--reference-budget 100000"):
                self.assertIn(words, command)
        self.assertEqual([event["timeout"] for event in events if event["event"] in ("run", "resume")], [77, 77])

    def test_another_machine_is_refused(self):
        suite = self.suite([group(["direct"], PROBLEMS[:1])])
        self.run_suite(suite, code=0)
        before = self.journal()
        other = self.environment(OMP_WAIT_POLICY="active")
        done = self.run_suite(suite, "--resume", "--launches", 2, env=other, code=2)
        for words in ("cannot resume", "software", "OMP_WAIT_POLICY", "--allow-mixed"):
            self.assertIn(words, done.stderr)
        self.assertEqual(self.journal(), before)
        # The file is as if from a machine with other hardware.
        file = self.out / "journal.jsonl"
        text = file.read_text()
        first = event_of(text.split("\n")[0])
        first["environment"]["hardware"]["moved"] = True
        first["environment"]["hashes"]["hardware"] = "another"
        file.write_text("\n".join([line_of(first)] + text.split("\n")[1:]))
        self.assertIn("hardware/moved was true there, now it is absent",
                      self.run_suite(suite, "--resume", "--launches", 2, code=2).stderr)
        self.run_suite(suite, "--resume", "--launches", 2, "--allow-mixed", env=other, code=0)
        self.assertEqual(len(self.rows()), 2)

    def as_begun_by(self, build, checksums=True):
        """Writes the journal as another build would have: `build` changes the event of the run and each row."""
        file = self.out / "journal.jsonl"
        events = [event_of(line) for line in file.read_text().split("\n")[:-1]]
        for event in events:
            build(event)
        file.write_text("".join((line_of(event) if checksums else json.dumps(event)) + "\n" for event in events))
        return file.read_bytes()

    def expect_not_resumed(self, suite, before, *words):
        result = (self.out / "result.json").read_bytes()
        done = self.run_suite(suite, "--resume", "--launches", 2, code=2)
        for word in ("cannot resume", *words):
            self.assertIn(word, done.stderr)
        self.assertEqual((self.out / "journal.jsonl").read_bytes(), before)
        self.assertEqual((self.out / "result.json").read_bytes(), result)

    def test_another_build_is_refused(self):
        suite = self.suite([group(["direct"], PROBLEMS[:1])])
        self.run_suite(suite, code=0)

        def other_commit(event):
            if event["event"] == "run":
                event["environment"]["software"]["assay"]["commit"] = "0123456"
                event["environment"]["hashes"]["software"] = "another"

        self.expect_not_resumed(suite, self.as_begun_by(other_commit), "software/assay/commit was", "--allow-mixed")

    def test_other_statistics_are_refused(self):
        suite = self.suite([group(["direct"], PROBLEMS[:1])])
        self.run_suite(suite, code=0)

        def other_estimator(event):
            if event["event"] == "run":
                event["statistics"] = 7
            if event["event"] == "row":  # its percentile is another one, by right
                event["row"]["time_s"]["p95"] = max(event["row"]["samples_s"]) * 0.999

        # The message is not "changed by hand": its own version would judge it so, ours cannot.
        self.expect_not_resumed(suite, self.as_begun_by(other_estimator), "statistics was 7 there, now it is 1")

    def test_two_runs_in_one_folder_exclude_each_other(self):
        suite, process, _ = self.start_and_wait_for_the_hang()
        said = self.run_suite(suite, code=2).stderr
        self.assertIn("another `assay run`", said)
        self.assertNotIn("waiting", said)
        process.terminate()
        process.wait()

    def test_a_resumed_run_waits_for_the_end_of_the_one_before(self):
        # A batch system starts the next job while processes of the one that it has killed are still about.
        suite = self.suite([group(["direct"], PROBLEMS[:2])])
        self.run_suite(suite, code=0)
        with open(self.out / ".lock", "r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            process = self.start_suite(suite, "--resume", "--launches", 2)
            self.wait_until(lambda: "waiting up to 30 s" in (self.folder / "stderr.txt").read_text(), process)
            self.assertEqual(len(self.journal_rows()), 2)
        self.assertEqual(process.wait(), 0)
        self.expect_ok(self.rows(), 4)


class FullDisk(RunTest):
    def honest_size(self, suite):
        self.out = self.folder / "honest"
        self.run_suite(suite, code=0)
        return (self.out / "journal.jsonl").stat().st_size, len(self.rows())

    def check_stop(self, done, count):
        """Clean end, finished rows kept, none blamed on a case. Returns how many rows there are."""
        if done.returncode == 0:  # fewer samples than in the honest run: all of it fitted
            self.assertEqual(len(self.rows()), count)
            return count
        self.assertIn(done.returncode, (2, 7), done.stderr)
        self.assertNotIn("terminate called", done.stderr)
        self.assertFalse((self.out / "result.json").exists())
        self.assertEqual([file.name for file in self.out.glob("*.tmp*")], [])
        rows = self.journal_rows() if (self.out / "journal.jsonl").exists() else []
        self.assertLessEqual({row["status"] for row in rows}, {"ok"}, "a full disk is no case's fault")
        self.assertIn("result.json" if len(rows) == count else str(self.out), done.stderr)
        return len(rows)

    def check_resume(self, suite, count):
        kept = [row["id"] for row in self.journal_rows()]
        self.run_suite(suite, "--resume", code=0)
        self.assertEqual([row["id"] for row in self.rows()][:len(kept)], kept)
        self.assertEqual(len({row["id"] for row in self.rows()}), count)
        self.check_file()

    def stop_halfway(self, attempt):
        """`attempt(part)` runs with part of the room and returns its rows. Rows differ in length from run to run (their samples), so
        the part that ends in the middle is searched for; every end on the way there was checked as well."""
        suite = self.suite([group(["direct"], PROBLEMS)])
        size, count = self.honest_size(suite)
        part = 0.7
        for number in range(12):
            self.out = self.folder / f"limited-{number}"
            self.out.mkdir()
            rows = attempt(suite, int(size * part), count)
            if 0 < rows < count:
                return suite, count
            part *= 0.8 if rows else 1.13
        self.fail("never ended in the middle")

    def test_file_size_limit(self):
        def attempt(suite, size, count):
            done = self.run_suite(suite, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
            return self.check_stop(done, count)

        suite, count = self.stop_halfway(attempt)
        self.check_resume(suite, count)

    def test_small_file_system(self):
        def attempt(suite, size, count):
            pages = max(6, size // 4096 + 3)  # journal, and plan, list and logs of a page each
            if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={pages * 4}k", "tmpfs", str(self.out)],
                                                   stderr=subprocess.DEVNULL).returncode != 0:
                self.skipTest("mounting a small file system needs root's rights")
            self.addCleanup(subprocess.run, ["umount", str(self.out)], check=False)
            return self.check_stop(self.run_suite(suite), count)

        suite, count = self.stop_halfway(attempt)
        subprocess.run(["mount", "-o", "remount,size=64M", str(self.out)], check=True)
        self.check_resume(suite, count)


if __name__ == "__main__":
    main(verbosity=2)
