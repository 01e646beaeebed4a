#!/usr/bin/env python3
"""A backend, a kernel and a suite are added to a copy of the tree by files alone: no existing file is edited."""
import json

from run_helper import main
from tree_copy_helper import TreeCopyTest


class AddByFiles(TreeCopyTest):
    def test_backend_kernel_and_suite(self):
        self.add(("backend", "kernel", "suite"),
                 ["kernels/axpy/benchmark.cpp", "kernels/axpy/problem.hpp", "kernels/reference/axpy.cpp",
                  "kernels/throwaway/CMakeLists.txt", "kernels/throwaway/backend.cpp", "suites/throwaway.json"])
        programs, said, compiled = self.build("assay", "assay-conv", "assay-axpy", "assay_backend_reference", "assay_backend_throwaway")
        self.assertIn("backend throwaway: built", said)
        for new in ("assay_backend_throwaway.dir", "assay-axpy.dir"):
            self.assertTrue(any(new in name for name in compiled), compiled)
        env = self.environment_of_copy()
        shown = self.command(programs / "assay", "list", "backends", env=env, code=0).stdout
        self.assertRegex(shown, "throwaway +available")
        self.assertIn("axpy", self.command(programs / "assay", "list", "benchmarks", env=env, code=0).stdout)
        self.assertIn("A suite added by one file", self.command(programs / "assay", "list", "suites", env=env, code=0).stdout)
        done = self.command(programs / "assay", "run", "throwaway", "--out", self.out, env=env, code=0)
        # Hot alone: behind a last cache of 480 MiB (a small virtual machine on a large host) cold rotates through 1 GB.
        self.assertIn("6 ok", done.stdout)
        rows = self.rows()
        self.assertEqual(len(rows), 6)
        self.assertTrue(all(row["verification"]["passed"] for row in rows))
        ids = {row["id"] for row in rows}
        self.assertTrue(any(id.startswith("axpy/fp64/reference/n100000/hot") for id in ids), ids)
        self.assertTrue(any("/throwaway/" in id for id in ids), ids)
        software = [environment["software"] for environment in json.loads((self.out / "result.json").read_text())["environments"]]
        self.assertTrue(any("throwaway" in json.dumps(one) for one in software))
        self.command(programs / "assay", "validate", self.out / "result.json", env=env, code=0)


if __name__ == "__main__":
    main(verbosity=2)
