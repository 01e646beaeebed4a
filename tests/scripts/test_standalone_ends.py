#!/usr/bin/env python3
"""However a program ends that `assay run` has not started, its finished rows can be made a result."""
import json
import pathlib
import signal
import subprocess

from run_helper import ASSAY, BIN, CONV, SMALL, RunTest, event_of, group, main


class Ends(RunTest):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "x.json"
        self.journal_file = pathlib.Path(f"{self.file}.journal.jsonl")

    def words(self, *algorithms):
        return [CONV, "--problem", SMALL, "--backend", "faulty", "--algorithm", ",".join(algorithms), "--threads", 1,
                "--max-time", 0.02, "--out", self.file]

    def finished(self):
        if not self.journal_file.exists():
            return []
        events = map(event_of, self.journal_file.read_text().split("\n")[:-1])
        return [event["row"] for event in events if event["event"] == "row"]

    def recover(self, rows):
        before = self.journal_file.read_bytes()
        again = self.command(*self.words("direct"), code=2)  # what is kept is not overwritten
        self.assertIn("assay recover", again.stderr)
        self.assertEqual(self.journal_file.read_bytes(), before)
        self.command(ASSAY, "recover", self.journal_file, code=0)
        self.command(ASSAY, "validate", self.file, code=0)
        result = json.loads(self.file.read_text())
        self.assertEqual([row["samples_s"] for row in result["rows"]], [row["samples_s"] for row in rows])
        self.assertEqual({row["status"] for row in result["rows"]}, {"ok"})
        self.assertIn("assay-conv", result["run"]["command"])
        self.assertFalse(self.journal_file.exists())
        self.command(*self.words("direct"), code=0)

    def test_signals(self):
        for number, more in ((signal.SIGINT, ()), (signal.SIGTERM, ()), (signal.SIGINT, ("--launches", 2))):
            with self.subTest((number.name, more)):
                process = subprocess.Popen([str(word) for word in (*self.words("direct", "hang"), *more)], env=self.environment(), text=True,
                                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                self.wait_until(lambda: len(self.finished()) == 1)
                process.send_signal(number)
                _, said = process.communicate()
                self.assertEqual(process.returncode, -number)
                self.assertIn(f"assay recover {self.journal_file}", said)
                self.assertFalse(self.file.exists())
                self.recover(self.finished())
                self.file.unlink()

    def test_launches_under_inherited_signals(self):
        """The parent may ignore ended children, as some job managers do, or block signals before it starts the program.
        """
        words = [str(word) for word in (*self.words("direct"), "--launches", 2)]
        done = subprocess.run(words, env=self.environment(), text=True, capture_output=True, timeout=60,
                              preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.command(ASSAY, "validate", self.file, code=0)
        self.file.unlink()
        # A child that failed is told by its status, too.
        words[words.index("direct")] = "crash"
        done = subprocess.run(words, env=self.environment(), text=True, capture_output=True, timeout=60,
                              preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertNotEqual(done.returncode, 0)
        words[words.index("crash")] = "direct,hang"
        process = subprocess.Popen(words, env=self.environment(), text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP}))
        self.wait_until(lambda: len(self.finished()) == 1)
        process.send_signal(signal.SIGHUP)  # which it must not take
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(6)  # after 5 s it would kill a launch that does not end
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, -signal.SIGTERM)

    def test_a_reader_that_leaves(self):
        """`| true`: who leaves wants nothing printed, and the result is in its file."""
        for words, file in ((self.words("direct"), self.file), (self.words("direct") + ["--launches", 2], self.file),
                            ([ASSAY, "run", self.suite([group(["direct"])]), "--out", self.out], self.out / "result.json")):
            with self.subTest(words):
                process = subprocess.Popen(list(map(str, words)), env=self.environment(), text=True, stdin=subprocess.DEVNULL,
                                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                process.stdout.close()
                said = process.stderr.read()
                process.stderr.close()
                self.assertEqual(process.wait(), 0, said)
                self.command(ASSAY, "validate", file, code=0)
                file.unlink()

    def test_crash(self):
        done = self.command(*self.words("direct", "crash"))
        self.assertLess(done.returncode, 0)
        self.assertEqual(len(self.finished()), 1)
        self.recover(self.finished())

    def test_the_head_is_that_of_a_run_that_ends(self):
        """Without the scale and the timing options nobody could repeat the rows."""
        words = [BIN / "assay-kmeans", "--problem", "n400d4", "--clusters", "2,3", "--threads", 1, "--scale", "1/4", "--allocator", "system",
                 "--max-time", 0.5, "--precision-target", 1e-6, "--out", self.file]
        for more in ((), ("--launches", 2)):
            with self.subTest(more):
                heads = []
                for ends in (False, True):
                    process = subprocess.Popen([str(word) for word in (*words, *more)], env=self.environment(), stdout=subprocess.DEVNULL,
                                               stderr=subprocess.DEVNULL)
                    if not ends:
                        self.wait_until(lambda: len(self.finished()) == 1)
                        process.terminate()
                    self.assertEqual(process.wait(), 0 if ends else -signal.SIGTERM)
                    if not ends:
                        self.command(ASSAY, "recover", self.journal_file, code=0)
                    head = json.loads(self.file.read_text())["run"]
                    self.file.unlink()
                    heads.append({name: value for name, value in head.items() if name not in ("id", "started", "finished", "resumed")})
                self.assertEqual(*heads)
                self.assertEqual([heads[0][name] for name in ("scale", "allocator", "max_time", "precision_target")], ["1/4", "system", 0.5, 1e-6])

    def test_a_program_that_ends_by_itself_leaves_its_result_alone(self):
        self.command(*self.words("direct"), code=0)
        self.assertEqual([file.name for file in self.folder.iterdir()], ["x.json"])

    def test_of_programs_with_one_result_one_runs(self):
        for more in ((), ("--launches", 2)):
            with self.subTest(more):
                first = subprocess.Popen([str(word) for word in (*self.words("hang"), *more)], env=self.environment(),
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                self.wait_until(self.journal_file.exists)  # it may be empty yet
                self.assertIn("still running", self.command(ASSAY, "recover", self.journal_file, code=2).stderr)
                for again in ((), ("--launches", 2)):
                    self.assertIn("still running", self.command(*self.words("direct"), *again, code=2).stderr)
                first.kill()
                first.wait()
                self.assertFalse(self.file.exists())
                self.journal_file.unlink()
        self.journal_file.touch()  # of a program that was killed at its start
        self.command(*self.words("direct"), code=0)

    def test_what_cannot_be_recovered(self):
        self.assertIn("cannot be read (No such file", self.command(ASSAY, "recover", self.journal_file, code=2).stderr)
        self.journal_file.write_text("notes\n")
        self.assertIn("line 1", self.command(ASSAY, "recover", self.journal_file, code=2).stderr)
        self.assertEqual(self.journal_file.read_text(), "notes\n")
        self.journal_file.write_text("")
        self.assertIn("no finished row: no result was written, and the journal was removed", self.command(ASSAY, "recover", self.journal_file, code=6).stderr)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_before_the_first_row(self):
        """Nothing is lost then, so nothing stays that a second start would stumble over."""
        for more, telling in (((), ""), (("--launches", 2), "assay-conv: launch 1 of 2\n")):
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
                with self.subTest((number.name, more)):
                    process = subprocess.Popen([str(word) for word in (*self.words("hang"), *more)], env=self.environment(), text=True,
                                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                    self.wait_until(lambda: self.journal_file.exists() and "begin" in self.journal_file.read_text())
                    process.send_signal(number)
                    _, said = process.communicate()
                    self.assertEqual((process.returncode, said), (-number, telling))
                    self.assertEqual(self.journal_file.exists(), number == signal.SIGKILL)
                    self.journal_file.unlink(missing_ok=True)
        self.assertNotIn("assay recover", self.command(*self.words("crash"), "--launches", 2).stderr)


if __name__ == "__main__":
    main(verbosity=2)
