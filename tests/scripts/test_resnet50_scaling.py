#!/usr/bin/env python3
"""Weak and strong scaling of training from the suite to the report, with a small network: suites/resnet50-scaling.json."""
import json
import re
import shutil
import unittest

from run_helper import ASSAY, BUILD, SOURCE, RunTest, main, read_report

SUITE = SOURCE / "suites" / "resnet50-scaling.json"
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


class Resnet50Scaling(RunTest):
    def test_the_suite(self):
        self.command(ASSAY, "validate", SUITE, code=0)

    @unittest.skipUnless((BUILD / "lib/assay/libassay_mpi.so").exists() and shutil.which("mpirun"),
                         "the plugin mpi was not built, or there is no mpirun")
    def test_both_kinds_in_one_report(self):
        suite = json.loads(SUITE.read_text())
        suite.update(launches=1, ceilings=False, timing={"max_time": 0.02})
        (case,) = suite["cases"]
        case.update(problem=["d18w8s32c5"], batch=["2", "4"], backend=["native"])
        file = self.folder / "quick.json"
        file.write_text(json.dumps(suite))
        self.run_suite(file, env=self.environment(**MPI), code=0)
        rows = {row["id"]: row for row in self.expect_ok(self.rows(), 4)}
        page = self.folder / "report.html"
        self.command(ASSAY, "report", self.out, "-o", page, code=0)
        data = read_report(re.search(r'<script id="data" type="application/json">(.*?)</script>', page.read_text(), re.S).group(1))
        ids = [row["id"] for row in data["rows"]]
        found = set()
        for curve in data["scaling"]:
            self.assertEqual(curve["over"], "ranks")
            first, second = curve["points"]
            self.assertEqual((first["count"], second["count"], first["efficiency"]), (1, 2, 1))
            one, two = (rows[ids[point["row"]]] for point in (first, second))
            images = two["problem"]["amounts"]["images_per_s"] / one["problem"]["amounts"]["images_per_s"]
            self.assertEqual(images, 2 if curve["weak"] else 1)
            speedup = images * one["time_s"]["median"] / two["time_s"]["median"]
            self.assertAlmostEqual(second["efficiency"], speedup / 2, places=6)
            found.add((curve["weak"], one["parameters"]["batch"], two["parameters"]["batch"]))
        self.assertEqual({(weak, int(a), int(b)) for weak, a, b in found}, {(True, 2, 2), (True, 4, 4), (False, 4, 2)})


if __name__ == "__main__":
    main(verbosity=2)
