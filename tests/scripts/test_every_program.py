#!/usr/bin/env python3
"""Every benchmark's program, found by its name, meets what no user wants it to meet: lost output, devices as files, counts that cannot be, signals."""
import json
import os
import pathlib
import signal
import subprocess

from run_helper import ASSAY, BIN, RunTest, event_of, line_of, main

PROGRAMS = sorted(file for file in BIN.glob("assay-*") if os.access(file, os.X_OK) and file.name != "assay-dataset")
# A small problem of each program whose first case is refused (no GPU) and whose second one goes on for a minute.
SMALL = {"gemm": "m8n8k8", "rnn": "lstm:8-2-3", "norm": "mb2ic4ih4", "pool": "mb1ic4ih8kh2sh2",
         "activation": "mb2ic4ih4", "dropout": "mb2ic4ih4", "concat": "mb1ca4cb4ih8",
         "update": "adam_n1000t3", "loss": "mb4c10", "pixel-loss": "mb1c3ih8", "squared-error": "mb4f10", "sum": "n1000", "convert": "n1000",
         "resize": "mb1ic4ih4oh8", "linalg": "syrk:n100d4", "pca": "n1001d7",
         "kmeans": "n1001d7", "svm": "n1001d7", "conv": "mb1ic8ih8oc8oh8kh3ph1"}


def long_run(name, out):
    return [BIN / f"assay-{name}", "--problem", SMALL[name], "--backend", "cuda,reference", "--device", "cpu", "--threads", 1, "--max-time", 60,
            "--precision-target", 1e-12, "--out", out]


class EveryProgram(RunTest):
    def test_programs_are_found(self):
        self.assertGreater(len(PROGRAMS), 10)

    def test_lost_output_is_exit_7(self):
        for program in PROGRAMS:
            with self.subTest(program.name):
                with open("/dev/full", "w") as full:
                    done = subprocess.run([program, "--list"], env=self.environment(), stdout=full, stderr=subprocess.PIPE, text=True)
                self.assertEqual(done.returncode, 7, done.stderr)

    def test_closed_streams_are_no_files_of_its_own(self):
        for program in PROGRAMS:
            with self.subTest(program.name):
                done = subprocess.run(["bash", "-c", '"$0" --list --problem nonsense <&- >&- 2>&-', program], env=self.environment())
                self.assertEqual(done.returncode, 2)

    def test_devices_and_folders_are_no_suites(self):
        for program in PROGRAMS:
            with self.subTest(program.name):
                for file in ("/dev/zero", self.folder, self.folder / "none.json"):
                    done = self.command(program, "--suite", file, code=2)
                    self.assertIn(str(file), done.stderr)

    def test_its_suite_is_not_overwritten(self):
        file = self.folder / "s.json"
        for program in PROGRAMS:
            with self.subTest(program.name):
                file.write_text(json.dumps({"schema": "assay-suite/1", "name": "s", "cases": [{"benchmark": program.name[len("assay-"):]}]}))
                before = file.read_bytes()
                self.command(program, "--suite", file, "--out", file, code=2)
                self.assertEqual(file.read_bytes(), before)

    def test_values_that_cannot_be(self):
        for program in PROGRAMS:
            with self.subTest(program.name):
                for words in (("--max-time", ""), ("--max-time", "nan"), ("--max-time", "-1"), ("--seed", "x"), ("--out", ""), ("--launches", 0),
                              ("--threads", 0), ("--threads", 99999999999), ("--precision-target", "1e400"), ("--list=",)):
                    done = self.command(program, *words, code=2)
                    self.assertIn(words[0].strip("-="), done.stderr)

    def test_a_signal_keeps_finished_rows(self):
        for name in SMALL:
            for number in (signal.SIGINT, signal.SIGTERM):
                with self.subTest(f"{name} {number.name}"):
                    out = self.folder / f"{name}.{number.name}.json"
                    journal = pathlib.Path(f"{out}.journal.jsonl")

                    def rows():
                        lines = journal.read_text().split("\n")[:-1] if journal.exists() else []
                        return [event["row"] for event in map(event_of, lines) if event["event"] == "row"]

                    process = subprocess.Popen(list(map(str, long_run(name, out))), env=self.environment(), text=True, stdout=subprocess.DEVNULL,
                                               stderr=subprocess.PIPE)
                    try:
                        self.wait_until(lambda: rows() or process.poll() is not None)
                        self.assertEqual(len(rows()), 1, "it ended by itself, or finished both")
                        process.send_signal(number)
                        _, said = process.communicate()
                    finally:
                        process.kill()
                    self.assertEqual(process.returncode, -number, said)
                    self.assertFalse(out.exists())
                    self.command(ASSAY, "recover", journal, code=0)
                    self.command(ASSAY, "validate", out, code=0)
                    self.assertEqual([row["status"] for row in json.loads(out.read_text())["rows"]], ["unsupported"])

    def test_numbers_that_were_changed_in_a_journal(self):
        """The checksum is right, as somebody would write it: the row no longer agrees with itself."""
        suite = self.suite([{"benchmark": name, "problem": [problem], "backend": ["reference"], "threads": [1]} for name, problem in SMALL.items()])
        self.run_suite(suite, code=0)
        journal = self.out / "journal.jsonl"
        lines = journal.read_text().split("\n")[:-1]
        result = (self.out / "result.json").read_bytes()
        benchmarks = set()
        for number, line in enumerate(lines):
            if json.loads(line)["event"] != "row":
                continue
            benchmarks.add(json.loads(line)["row"]["benchmark"])
            for place, name, value in (("time_s", "median", 1e-3), ("verification", "max_error", 1e3), ("parameters", "threads", 2), ("rates", None, 1)):
                event = event_of(line)
                name = name or next(iter(event["row"]["rates"]))
                event["row"][place][name] = value
                with self.subTest(event["row"]["id"], changed=f"{place}.{name}"):
                    journal.write_text("\n".join([*lines[:number], line_of(event), *lines[number + 1:]]) + "\n")
                    done = self.run_suite(suite, "--resume", code=2)
                    self.assertIn(f"{journal}: line {number + 1}", done.stderr)
                    self.assertEqual((self.out / "result.json").read_bytes(), result)
        self.assertEqual(benchmarks, set(SMALL))


if __name__ == "__main__":
    main()
