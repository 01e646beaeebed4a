#!/usr/bin/env python3
"""scripts/peers/sklearn_bench --out: a result file of one row, of the same problem as the row of Assay's program, unless its result is wrong."""
import json
import pathlib
import subprocess
import unittest

from run_helper import ASSAY, BIN, SOURCE, RunTest, main

PEERS = SOURCE / ".deps" / "peers" / "bin" / "python3"
SCRIPT = SOURCE / "scripts" / "peers" / "sklearn_bench"
SHORT = ["--threads", "1", "--max-time", "0.05"]


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
