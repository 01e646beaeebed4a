#!/usr/bin/env python3
"""Patterns of messages of assay-collectives under mpirun: bisection, alltoallv, groups, a victim beside others."""
import json
import unittest

from run_helper import ASSAY, AT_ONCE, RunTest, main
from test_collectives import COLLECTIVES, MPI, launcher


@unittest.skipUnless(launcher(), "the plugin mpi was not built, or there is no mpirun")
class Patterns(RunTest):
    def rows(self, ranks, *words, code=0):
        self.file = self.folder / "c.json"
        self.file.unlink(missing_ok=True)
        self.command(launcher(), "-n", ranks, COLLECTIVES, "--max-time", "0.005", "--out", self.file, *words, code=code,
                     env=self.environment(**MPI, **AT_ONCE))
        if code == 0:
            self.command(ASSAY, "validate", self.file, code=0)
        self.document = json.loads(self.file.read_text())
        return self.document["rows"]

    def expect_refused(self, change, pointer):
        document = json.loads(json.dumps(self.document))
        change(document["rows"][0])
        self.file.write_text(json.dumps(document))
        self.assertIn(pointer, self.command(ASSAY, "validate", self.file, code=2).stderr)

    def test_bisection(self):
        rows = self.rows(4, "--collective", "bisection", "--bytes", "8,40000", "--rounds", "auto,1")
        self.assertEqual([(row["status"], row["parameters"]["rounds"]) for row in rows], [("ok", 3), ("ok", 1)] * 2)
        for row in rows:
            rounds = row["parameters"]["rounds"]
            self.assertEqual(row["verification"]["outputs"], 4 * rounds * row["problem"]["bytes"] // 4)
            self.assertEqual(row["problem"]["busbw_factor"], 2 * rounds)
            self.assertGreaterEqual(row["metrics"]["slowest_pair_s"]["value"], row["metrics"]["typical_pair_s"]["value"])
            self.assertNotEqual(row["metrics"]["slowest_rank"]["value"], row["metrics"]["slowest_partner"]["value"])
        criteria = self.folder / "criteria.json"
        for most, codes in ((100, {0}), (-1, {4, 5})):  # a metric is a quantity of criteria; 5: other work ran here
            criteria.write_text(json.dumps({"schema": "assay-criteria/1", "name": "links", "nodes": "seen",
                                            "absolute": [{"rows": "/bisection/", "quantity": "slow_links", "at_most": most}]}))
            done = self.command(ASSAY, "accept", self.file, "--criteria", criteria, code=None)
            self.assertIn(done.returncode, codes, done.stdout)
        self.expect_refused(lambda row: row["problem"].update(busbw_factor=3), "/problem/busbw_factor")
        row = self.rows(2, "--collective", "bisection", "--bytes", "16M")[0]
        self.assertNotIn("slow_links", row["metrics"])  # a pair alone is as typical as it is slow
        said = self.command(ASSAY, "accept", self.file, "--criteria", "links", code=None).stdout
        self.assertIn("MISSING", said)
        for ranks, words, why in ((3, (), "an even number of ranks"), (2, ("--rounds", 2), "none meet twice"),
                                  (2, ("--algorithm", "ring"), "has no algorithm"), (2, ("--placement", "in_place"), "in place")):
            row = self.rows(ranks, "--collective", "bisection", "--bytes", "8", *words, code=6)[0]
            self.assertIn(why, row["reason"])

    def test_alltoallv(self):
        rows = self.rows(3, "--collective", "alltoallv", "--bytes", "n1100", "--zipf", "0,1,2.5", "--precision", "fp64,int32")
        factors = {0: (366 * 2 + 2) / 1100, 1: 2 * 600 / 1100}  # of 11/6: 6, 3, 2 parts
        for row in rows:
            self.assertEqual((row["status"], row["verification"]["wrong"]), ("ok", 0), row["reason"])
            factor = factors.get(row["parameters"].get("zipf", 1))
            if factor:
                self.assertAlmostEqual(row["problem"]["busbw_factor"], factor, delta=0.002)
        self.assertEqual(len(rows), 6)
        self.expect_refused(lambda row: row["problem"].update(busbw_factor=2), "/problem/busbw_factor")
        row = self.rows(3, "--collective", "alltoallv", "--bytes", "n4", "--zipf", 9, code=6)[0]
        self.assertIn("gets no element", row["reason"])

    def test_groups(self):
        for grouping in ("block", "rail"):
            rows = self.rows(4, "--collective", "allreduce,alltoall,bisection,allgather", "--algorithm", "library", "--bytes", "4000",
                             "--groups", 2, "--grouping", grouping)
            rows += self.rows(4, "--collective", "allreduce", "--algorithm", "ring", "--bytes", "4000", "--groups", 2, "--grouping", grouping)
            for row in rows:
                self.assertEqual((row["status"], row["problem"]["ranks"], row["parameters"]["ranks"]), ("ok", 2, 4), row["reason"])
        rows = self.rows(4, "--collective", "allreduce", "--algorithm", "library", "--bytes", "4000", "--groups", 2, "--grouping", "block,rail")
        self.expect_ok(rows, 2)  # each has communicators of its own
        row = self.rows(3, "--groups", 2, "--bytes", "4000", code=6)[0]
        self.assertIn("cannot form groups of 2", row["reason"])

    def test_a_victim_beside_others(self):
        row, = self.rows(4, "--bytes", 8, "--beside", "64K")
        self.assertEqual((row["status"], row["rates"]), ("ok", {}), row["reason"])
        values = {name: metric["value"] for name, metric in row["metrics"].items()}
        self.assertLessEqual(values["alone_median_s"], values["alone_p99_s"])
        self.assertLessEqual(values["beside_median_s"], values["beside_p99_s"])
        self.assertGreaterEqual(values["alltoalls_of_a_run"], 1)
        for words, why in ((("--algorithm", "ring"), "the transport's own"), (("--op", "average"), "not of averages")):
            row = self.rows(4, "--bytes", 8, "--beside", "64K", *words, code=6)[0]
            self.assertIn(why, row["reason"])


if __name__ == "__main__":
    main()
