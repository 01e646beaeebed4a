#!/usr/bin/env python3
"""Launches of one suite under a real mpirun are one software: they can be compared and tracked."""
import json
import os
import shutil
import unittest

from run_helper import ASSAY, BUILD, RunTest, group, main

MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


class SoftwareHash(RunTest):
    def environment(self, **more):
        environment = super().environment(**{**MPI, **more})
        if "ASSAY_PLUGIN_PATH" not in more:
            environment.pop("ASSAY_PLUGIN_PATH")
        return environment

    def measure(self, mpirun, transport, name, launches=3, **more):
        suite = self.suite([{"benchmark": "collectives", "collective": ["allreduce"], "transport": [transport], "bytes": [4, 4096]}],
                           timing={"max_time": 0.005})
        out = self.folder / "runs" / name
        self.command(ASSAY, "run", suite, "--seed", "1", "--launches", launches, "--launcher", f"{mpirun} -n 2", "--out", out,
                     env=self.environment(**more), code=0)
        return out

    def check(self, transport, mpirun):
        if not (BUILD / f"lib/assay/libassay_{transport}.so").exists() or not shutil.which(mpirun):
            self.skipTest(f"the plugin {transport} was not built, or there is no {mpirun}")
        first, second = (self.measure(mpirun, transport, name) for name in ("first", "second"))
        hashes = set()
        for out in (first, second):
            result = json.loads((out / "result.json").read_text())
            self.expect_ok(result["rows"], 6)
            self.assertEqual({row["parameters"]["ranks"] for row in result["rows"]}, {2})
            hashes.update(environment["hashes"]["software"] for environment in result["environments"])
        self.assertEqual(len(hashes), 1)

        # 6 is rows that cannot be compared; 4 and 5 are verdicts on times, which differ from run to run.
        done = self.command(ASSAY, "compare", first, second, "--vary", "nothing", "--format", "json")
        self.assertIn(done.returncode, (0, 4, 5), done.stderr)
        comparison = json.loads(done.stdout)
        self.assertEqual(comparison["mismatches"], [])
        self.assertEqual([(row["base"]["launches"], row["new"]["launches"]) for row in comparison["rows"]], [(3, 3)] * 2)

        done = self.command(ASSAY, "history", self.folder / "runs", "--format", "json")
        history = json.loads(done.stdout)
        self.assertEqual([len(series["points"]) for series in history["series"]], [2, 2], done.stderr)
        self.assertEqual([series["gaps"] + series["events"] for series in history["series"]], [[], []])
        return first

    def test_open_mpi(self):
        first = self.check("mpi", "mpirun.openmpi")
        # A library that a user chooses is another software, and named.
        chosen = self.measure("mpirun.openmpi", "mpi", "chosen", launches=1, OMPI_MCA_coll_tuned_priority="31")
        done = self.command(ASSAY, "compare", first, chosen, "--vary", "nothing", "--format", "json")
        self.assertEqual([mismatch["field"] for mismatch in json.loads(done.stdout)["mismatches"]],
                         ["software/switches/OMPI_MCA_coll_tuned_priority"])

    def test_mpich(self):
        self.check("mpich", "mpirun.mpich")

    def test_a_plugin_that_changes_between_runs_is_another_software(self):
        """Ten bytes at the end change neither version nor build-id."""
        plugins = self.folder / "plugins"
        plugins.mkdir()
        plugin = plugins / "libassay_reference.so"
        shutil.copy(BUILD / "lib/assay" / plugin.name, plugin)
        suite = self.suite([group(["direct"], backend="reference")])
        outs = []
        for name in ("first", "again", "edited"):
            if name == "edited":
                edited = plugin.read_bytes() + b"0123456789"
                plugin.unlink()  # others may have it mapped
                plugin.write_bytes(edited)
            outs.append(self.folder / "runs" / name)
            self.command(ASSAY, "run", suite, "--seed", "1", "--out", outs[-1], env=self.environment(ASSAY_PLUGIN_PATH=str(plugins)),
                         code=0)
        compared = [json.loads(self.command(ASSAY, "compare", outs[0], other, "--vary", "nothing", "--format", "json").stdout)
                    for other in outs[1:]]
        self.assertEqual(compared[0]["mismatches"], [])
        self.assertEqual([mismatch["field"] for mismatch in compared[1]["mismatches"]], ["software/binaries/libassay_reference.so"])
        self.assertEqual(compared[1]["exit_code"], 6)


if __name__ == "__main__":
    main()
