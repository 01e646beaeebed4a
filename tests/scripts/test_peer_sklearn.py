#!/usr/bin/env python3
"""scripts/peers/sklearn_bench --out: a result file of one row, of the same problem as the row of Assay's program, unless its result is wrong."""
import importlib.machinery
import importlib.util
import json
import subprocess
import types
import unittest
from unittest import mock

from run_helper import ASSAY, BIN, SOURCE, RunTest, main

PEERS = SOURCE / ".deps" / "peers" / "bin" / "python3"
SCRIPT = SOURCE / "scripts" / "peers" / "sklearn_bench"
SHORT = ["--threads", "1", "--max-time", "0.05"]
LOADER = importlib.machinery.SourceFileLoader("sklearn_bench", str(SCRIPT))
BENCH = importlib.util.module_from_spec(importlib.util.spec_from_loader("sklearn_bench", LOADER))
LOADER.exec_module(BENCH)


class Times(RunTest):
    def test_iterations_are_timed_without_what_surrounds_them(self):
        clock = [0.0]

        def iterate(seconds):
            clock[0] += seconds
        module = types.SimpleNamespace(lloyd_iter_chunked_dense=iterate)

        def fit(iterations, calls=1):
            clock[0] += 100
            for _ in range(iterations):
                module.lloyd_iter_chunked_dense(2)
            for _ in range(calls):  # the last assignment
                module.lloyd_iter_chunked_dense(50)
            clock[0] += 100
        with mock.patch.object(BENCH.time, "perf_counter", lambda: clock[0]):
            self.assertEqual(BENCH.iterations_alone(module, fit, 10), 20)
            for calls in (0, 2):
                with self.assertRaises(BENCH.Untimed):
                    BENCH.iterations_alone(module, lambda iterations: fit(iterations, calls), 10)
        self.assertIs(module.lloyd_iter_chunked_dense, iterate)

    def test_a_difference_that_is_no_time_fails_the_row(self):
        self.assertEqual(BENCH.difference(3, 1), 2)
        times = iter([(3, 1), (3, 1), (1, 3)])  # the second of the timed runs
        data, out = self.folder / "x.npy", self.folder / "row.json"
        data.write_bytes(b"x")
        args = types.SimpleNamespace(analysis="kmeans", data=data, labels=None, intelex=True, threads=1, start="0,1", iterations=10, runs=2, out=out)
        table = types.SimpleNamespace(shape=(4, 2), dtype=mock.MagicMock(itemsize=8, __str__=lambda _: "float64"))
        told = {"reference": "none", "error": 0, "bound": 1, "metrics": {}}
        with self.assertRaisesRegex(BENCH.Untimed, "too busy"):
            BENCH.analytics_row.write(args, table, ("scikit-learn-intelex", "1"), lambda: (lambda: BENCH.difference(*next(times)), told))
        (row,) = json.loads(out.read_text())["rows"]
        self.assertEqual((row["status"], row["time_s"], row["samples_s"], row["metrics"] if "metrics" in row else {}), ("failed", None, [], {}))
        self.assertIn("too busy", row["reason"])
        self.command(ASSAY, "validate", out, code=0)


@unittest.skipUnless(PEERS.exists(), "scikit-learn is not installed (scripts/bootstrap --with-peers brings it)")
class PeerSklearn(RunTest):
    def table(self, name):
        self.command(BIN / "assay-dataset", f"{name}:n2000d6", "--out", self.folder / "x.npy",
                     *(["--labels", self.folder / "y.npy"] if name == "classes" else []), code=0)
        return self.folder / "x.npy"

    def peer(self, *words, code=0):
        done = subprocess.run([str(w) for w in (SCRIPT, *words, "--threads", "1", "--runs", "8", "--out", self.folder / "peer.json")],
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment(), timeout=300)
        self.assertEqual(done.returncode, code, done.stderr)
        self.command(ASSAY, "validate", self.folder / "peer.json", code=0)
        (row,) = json.loads((self.folder / "peer.json").read_text())["rows"]
        return row

    def ours(self, program, data, *more, file="ours.json"):
        self.command(BIN / program, "--data", data, *more, *SHORT, "--out", self.folder / file, code=0)
        return json.loads((self.folder / file).read_text())["rows"][0]

    def check_beside(self, ours, row):
        self.assertEqual(row["parameters"]["data"], ours["parameters"]["data"])
        self.assertEqual(row["time_s"]["n"], 8)
        told = json.loads(self.command(ASSAY, "table", self.folder / "ours.json", "--baseline", self.folder / "peer.json", "--format", "json",
                                       code=0).stdout)
        (speedup,) = [record["speedup"] for record in told["rows"] if record.get("speedup")]
        self.assertAlmostEqual(speedup * ours["time_s"]["median"] / row["time_s"]["median"], 1)

    def test_components(self):
        data = self.table("normal")
        ours, row = self.ours("assay-pca", data), self.peer("pca", "--data", data)
        for name in ("first_sd", "last_sd"):
            self.assertAlmostEqual(row["metrics"][name]["value"] / ours["metrics"][name]["value"], 1, delta=1e-9)
        self.check_beside(ours, row)

    def test_centroids(self):
        data = self.table("normal")
        self.check_beside(self.ours("assay-kmeans", data, "--clusters", 3), self.peer("kmeans", "--data", data, "--start", "3,141,59"))

    def test_plane(self):
        data = self.table("classes")
        both = f"{data}+{self.folder / 'y.npy'}"
        ours = self.ours("assay-svm", both)
        self.ours("assay-svm", both, "--gap", "1e-6", file="optimum.json")
        svm = ["svm", "--data", data, "--labels", self.folder / "y.npy", "--optimum"]
        row = self.peer(*svm, self.folder / "optimum.json")
        self.assertAlmostEqual(row["metrics"]["objective"]["value"] / ours["metrics"]["objective"]["value"], 1, delta=2e-3)
        self.check_beside(ours, row)
        # Not the quality that the id names, and a bound that is none: no time.
        for optimum in (ours["metrics"]["objective"]["value"] * factor for factor in (0.5, 1.5)):
            row = self.peer(*svm, optimum, code=7)
            self.assertEqual((row["status"], row["time_s"], row["samples_s"]), ("incorrect", None, []))


if __name__ == "__main__":
    main()
