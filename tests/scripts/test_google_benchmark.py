#!/usr/bin/env python3
"""Rows in the JSON of Google Benchmark, which its own compare.py reads; its habits of listing and filtering."""
import json
import os
import pathlib
import subprocess
import sys
import unittest

from run_helper import BIN, CONV, SMALL, SOURCE, RunTest, main

QUICK = ["--problem", SMALL, "--threads", 1]
TIMED = ["--max-time", 0.02]
# Debian's package libbenchmark-tools, or tools/ of Google Benchmark's sources.
COMPARE = pathlib.Path(os.environ.get("ASSAY_GOOGLE_COMPARE", "/usr/share/benchmark/compare.py"))


def python_with_scipy():
    """The Python of which compare.py needs scipy, or None."""
    for python in (sys.executable, str(SOURCE / ".deps" / "peers" / "bin" / "python3"), "/usr/bin/python3"):
        try:
            if subprocess.run([python, "-c", "import scipy.stats"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
                return python
        except FileNotFoundError:
            pass
    return None


PYTHON = python_with_scipy()


class Json(RunTest):
    def rows(self, *words, code=0, **more):
        done = self.command(CONV, *QUICK, *TIMED, *words, "--format", "google-benchmark", code=code, **more)
        return json.loads(done.stdout)["benchmarks"]

    def test_a_row_is_its_run_with_rates(self):
        out, result = self.folder / "google.json", self.folder / "result.json"
        entries = self.rows("--backend", "reference", "--benchmark_out", out, "--out", result)
        row, = json.loads(result.read_text())["rows"]
        self.assertEqual(json.loads(out.read_text())["benchmarks"], entries)
        run, *together = entries
        self.assertEqual([run["name"], run["run_type"], run["time_unit"]], [row["id"], "iteration", "ns"])
        self.assertAlmostEqual(run["real_time"] / (1e9 * row["time_s"]["median"]), 1, places=12)
        self.assertEqual(run["iterations"], row["time_s"]["n"] * row["time_s"]["batch"])
        for name, rate in row["rates"].items():
            self.assertEqual(run[name], rate)
        self.assertEqual([entry["aggregate_name"] for entry in together], ["mean", "median", "stddev"])

    def test_a_row_that_is_not_ok_has_no_time(self):
        for backend, algorithm, status, code in (("faulty", "wrong_element", "incorrect", 3), ("faulty", "throw", "failed", 7),
                                                 ("reference", "fft", "unsupported", 6)):
            with self.subTest(status):
                entry, = self.rows("--backend", backend, "--algorithm", algorithm, code=code)
                self.assertTrue(entry["error_occurred"])
                self.assertTrue(entry["error_message"])
                self.assertEqual(entry["aggregate_name"], status)
                self.assertFalse({"real_time", "cpu_time", "time_unit"} & set(entry), entry)

    def test_the_words_of_google_benchmark(self):
        both = ["--backend", "reference,native"]
        listed = self.command(CONV, *QUICK, *both, "--benchmark_list_tests", code=0).stdout.splitlines()
        self.assertEqual([line.split("/")[3] for line in listed], ["reference", "native"])
        for pattern, kept in (("/nat.ve/", listed[1:]), ("-/nat.ve/", listed[:1]), (".", listed)):
            done = self.command(CONV, *QUICK, *both, "--benchmark_list_tests=true", f"--benchmark_filter={pattern}", code=0)
            self.assertEqual(done.stdout.splitlines(), kept, pattern)
        done = self.command(CONV, *QUICK, *TIMED, *both, "--benchmark_filter=reference", "--benchmark_format=json", code=0)
        self.assertEqual(json.loads(done.stdout)["benchmarks"][0]["name"], listed[0])
        named = self.command(CONV, "--problem", "resnet50", "--benchmark_list_tests", "--benchmark_filter=res2a_branch2b$", code=0).stdout
        self.assertRegex(named, r"\Aconv/\S+\n\Z")  # ids alone, without the name by which it was found

    def test_wrong_words_are_refused(self):
        file = self.folder / "google.json"
        for words, part in ((["--benchmark_filter=nosuch"], "no case matches"), (["--benchmark_filter=("], "is not a valid regular expression"),
                            (["--format", "json"], "google-benchmark"), (["--benchmark_format=csv"], "console"),
                            (["--list", "--benchmark_out", file], "--benchmark_out"), (["--list", "--format", "text"], "--format"),
                            (["--launches", 2, "--benchmark_out", file], "--launches"),
                            (["--out", file, "--benchmark_out", file], "name the same file"),
                            (["--benchmark_out", "/dev/null/google.json"], "/dev/null")):
            with self.subTest(words):
                self.assertIn(part, self.command(CONV, *QUICK, *words, code=2).stderr)
        self.assertEqual(os.listdir(self.folder), [])


@unittest.skipUnless(COMPARE.exists(), f"no {COMPARE} (package libbenchmark-tools)")
@unittest.skipUnless(PYTHON, "no Python with scipy, which compare.py needs")
class Compare(RunTest):
    def compare(self, *words):
        return self.command(PYTHON, COMPARE, "--no-color", "benchmarks", *words, code=0)

    def test_two_files(self):
        files = [self.folder / "old.json", self.folder / "new.json"]
        for file, algorithms in zip(files, ("direct,auto", "direct")):
            self.command(CONV, *QUICK, *TIMED, "--backend", "faulty", "--algorithm", algorithms, "--benchmark_out", file, code=0)
        done = self.compare(*files)
        self.assertEqual(done.stderr, "")
        old, new = (json.loads(file.read_text())["benchmarks"] for file in files)
        line = next(line for line in done.stdout.splitlines() if line.startswith(old[0]["name"] + " ")).split()
        self.assertAlmostEqual(float(line[1]), new[0]["real_time"] / old[0]["real_time"] - 1, places=3)
        self.assertEqual(line[3:5], [f"{entry['real_time']:.0f}" for entry in (old[0], new[0])])
        self.assertNotIn("/auto/", done.stdout)  # measured in one file alone

    def test_a_case_that_failed_is_no_faster_one(self):
        files = [self.folder / "old.json", self.folder / "new.json"]
        for file, off, code in zip(files, "10", (0, 7)):
            self.command(CONV, *QUICK, *TIMED, "--backend", "faulty", "--algorithm", "direct,throw", "--benchmark_out", file, code=code,
                         env=self.environment(ASSAY_FAULT_OFF=off))
        for old, new in (files, reversed(files), [files[1]] * 2):
            done = self.compare(old, new)
            self.assertIn("/direct/", done.stdout)
            self.assertNotIn("/throw/", done.stdout)

    def test_two_programs(self):
        done = self.compare(CONV, CONV, *map(str, QUICK + TIMED), "--backend=reference", "--benchmark_filter=forward")
        self.assertEqual(done.stdout.count("RUNNING: "), 2, done.stdout)
        self.assertIn("OVERALL_GEOMEAN", done.stdout)


if __name__ == "__main__":
    main()
