#!/usr/bin/env python3
"""Rows of several ranks have the ceilings that the ranks had beside one another, and a benchmark of one process those of one."""
import shutil

from run_helper import BIN, BUILD, RunTest, main

import json
import unittest

TABLE = "n20011d60"  # larger than the caches of a core
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def has_mpi():
    return (BUILD / "lib/assay/libassay_mpi.so").exists() and shutil.which("mpirun") is not None


@unittest.skipUnless(has_mpi(), "the plugin mpi was not built, or there is no mpirun")
class RankCeilings(RunTest):
    def environment(self, **more):
        environment = super().environment(**{**MPI, **more})
        environment.pop("ASSAY_PLUGIN_PATH")
        return environment

    def test_every_row_has_a_ceiling(self):
        common = {"backend": ["native"], "threads": [1]}
        suite = self.suite([{"benchmark": name, "problem": [TABLE], **common} for name in ("pca", "kmeans", "svm")]
                           + [{"benchmark": "linalg", "problem": ["moments:n2000d60"], **common}], ceilings=True)
        self.run_suite(suite, "--ranks", 2, code=0)
        self.check_file()
        result = json.loads((self.out / "result.json").read_text())
        measured = {row["parameters"]["ranks"] for bracket in result["run"]["bracket"] for row in bracket["rows"]}
        self.assertEqual(measured, {1, 2})
        found = {}
        for row in self.expect_ok(self.rows(), 4):
            with self.subTest(row["id"]):
                self.assertIsNotNone(row["ceiling"], row["ceiling_reason"])
                self.assertGreater(row["ceiling"]["fraction"], 0)
                found[row["benchmark"]] = row
        self.assertNotIn("shared_by", found.pop("linalg")["problem"])
        self.assertEqual({row["problem"]["shared_by"] for row in found.values()}, {2})
        # The best rank's peak beside the other, twice: the ranks share the table.
        whole = found["pca"]
        peaks = [row["problem"]["flops"] / row["time_s"]["min"] for bracket in result["run"]["bracket"] for row in bracket["rows"]
                 if row["parameters"]["ranks"] == 2 and row["problem"]["descriptor"].startswith("fma")]
        self.assertAlmostEqual(whole["ceiling"]["flops_per_s"] / (2 * max(peaks)), 1)
        # The fraction is of these rates: the least time is enough for all operations at the peak.
        moved = whole["ceiling"]["flops_per_s"] * whole["ceiling"]["fraction"] * whole["time_s"]["median"]
        self.assertGreaterEqual(moved * (1 + 1e-9), whole["problem"]["flops"])

    def test_every_rank_of_one_process_benchmark_measures(self):
        rows = []
        for words, count in (((), 1), (("--all-ranks",), 2)):
            out = self.folder / f"{count}.json"
            self.command("mpirun", "-n", 2, BIN / "assay-stream", "--problem", "read_n1000", "--threads", 1, "--max-time", 0.01,
                         "--out", out, *words, code=0)
            (row,) = json.loads(out.read_text())["rows"]
            self.assertEqual(row["parameters"]["ranks"], count)
            rows.append(row)
        self.assertEqual(rows[0]["id"], rows[1]["id"])
        self.assertEqual(rows[1]["problem"]["shared_by"], 1)


if __name__ == "__main__":
    main()
