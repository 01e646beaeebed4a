#!/usr/bin/env python3
# full
"""Ranks on two hosts (namespaces of this machine): transports see two nodes and keep their contract, and a cut cable ends a case."""
import json
import os
import signal
import subprocess
import unittest

from hosts_helper import HOSTS, Hosts, why_not
from run_helper import ASSAY, BIN, BUILD, RunTest, main

CONTRACT = BUILD / "tests" / "bin" / "contract"
REASON = why_not()


@unittest.skipIf(REASON, f"unsupported: {REASON}")
class SeveralHosts(RunTest):
    def setUp(self):
        super().setUp()
        self.hosts = self.enterContext(Hosts(self.folder))
        self.variables = {**os.environ, "ASSAY_PLUGIN_PATH": str(BUILD / "lib" / "assay"), "OMP_NUM_THREADS": "1",
                          "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def need(self, transport):
        if not (BUILD / "lib" / "assay" / f"libassay_{transport}.so").exists():
            self.skipTest(f"the transport {transport} was not built")

    def contract(self, transport, ranks, *words):
        self.need(transport)
        command = self.hosts.on_first(*self.hosts.mpirun(ranks), "-x", "ASSAY_PLUGIN_PATH", "-x", "OMP_NUM_THREADS", CONTRACT,
                                      transport, "--expect-nodes", 2, *words)
        done = subprocess.run(command, env=self.variables, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn(f"{transport} on {ranks} ranks, 2 nodes", done.stdout)

    def test_mpi(self):
        self.contract("mpi", 4)

    def test_gloo(self):
        self.contract("gloo", 4)

    def test_oneccl(self):
        self.contract("oneccl", 2)

    def algorithms(self, names, *words):
        """Each over mpi and gloo, on two hosts of two ranks: all right."""
        self.need("gloo")
        file = self.folder / "x.json"
        command = self.hosts.on_first(*self.hosts.mpirun(4), BIN / "assay-collectives", "--transport", "mpi,gloo", "--algorithm",
                                      ",".join(names), "--bytes", "400000", "--max-time", "0.05", "--out", file, *words)
        done = subprocess.run(command, env=self.variables, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout)
        result = json.loads(file.read_text())
        self.assertEqual([(row["status"], row["parameters"]["nodes"]) for row in result["rows"]], [("ok", 2)] * 2 * len(names), done.stdout)
        self.assertEqual({row["executed"]["algorithm"] for row in result["rows"]}, set(names))
        return result

    def test_a_hybrid_with_shared_memory_inside(self):
        result = self.algorithms(["horovod_hybrid"], "--intra-node", "shared_memory")
        for row in result["rows"]:
            self.assertIn("shared_memory", row["executed"]["implementation"])

    def test_shared_memory_does_not_reach_another_host(self):
        done = subprocess.run(self.hosts.on_first(*self.hosts.mpirun(4), BIN / "assay-collectives", "--algorithm", "shared_memory", "--bytes", "4"),
                              env=self.variables, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        self.assertEqual(done.returncode, 6, done.stdout)  # no row was measured
        self.assertIn("unsupported: shared_memory needs one node (there are 2)", done.stdout)

    def test_algorithms_over_nodes(self):
        result = self.algorithms(["hierarchical", "horovod_hybrid", "torus2d"])
        hosts = list(HOSTS)
        self.assertEqual(result["environments"][0]["rank_hosts"], [hosts[0]] * 2 + [hosts[1]] * 2)
        self.assertEqual([place["node"] for place in result["environments"][0]["rank_places"]], [0, 0, 1, 1])

    def test_a_host_with_another_build_of_a_library(self):
        """Ten bytes at the end of a plugin change neither version nor build-id."""
        self.need("gloo")
        plugins = BUILD / "lib" / "assay"
        edited = self.folder / "edited"
        edited.mkdir()
        for file in plugins.iterdir():
            (edited / file.name).symlink_to(file)
        plugin = edited / "libassay_gloo.so"
        plugin.unlink()
        plugin.write_bytes((plugins / plugin.name).read_bytes() + b"0123456789")
        there = self.folder / "there"
        there.write_text(f'#!/bin/sh\n[ "$(hostname)" = {list(HOSTS)[1]} ] && export ASSAY_PLUGIN_PATH={edited}\nexec "$@"\n')
        there.chmod(0o755)
        said = rf"mixed: .*libassay_gloo\.so: .*of which {list(HOSTS)[1]} has content "
        suite = self.suite([{"benchmark": "collectives", "collective": ["allreduce"], "problem": ["4000"], "transport": ["gloo"]}])
        for words, code in (([], 0), ([there], 6)):
            launcher = [str(word) for word in (*self.hosts.mpirun(4), "-x", "ASSAY_PLUGIN_PATH", *words)]
            self.out = self.folder / f"out{code}"
            done = self.command(*self.hosts.on_first(ASSAY, "run", suite, "--out", self.out, "--launcher", " ".join(launcher)),
                                env=self.variables, code=code)
            self.expect_ok(self.rows(), 1)
            (self.assertRegex if words else self.assertNotRegex)(done.stdout, said)
            done = self.command(*self.hosts.on_first(*launcher, BIN / "assay-collectives", "--transport", "gloo", "--bytes", 4000,
                                                     "--max-time", 0.02), env=self.variables, code=code)
            (self.assertRegex if words else self.assertNotRegex)(done.stderr, said)
        # Readers see another software than that of one build.
        done = self.command(ASSAY, "compare", self.folder / "out0", self.folder / "out6", "--vary", "nothing", "--format", "json", code=6)
        self.assertIn("software/binaries/libassay_gloo.so", [mismatch["field"] for mismatch in json.loads(done.stdout)["mismatches"]])

    def struck(self, transport, strike):
        """The rows of a suite of six over two hosts that something strikes after its first row."""
        self.need(transport)
        suite = self.suite([{"benchmark": "collectives", "collective": ["allreduce"], "problem": ["4000"],
                             "transport": [transport], "op": ["sum", "min", "max"], "placement": ["out_of_place", "in_place"]}])
        command = self.hosts.on_first(ASSAY, "run", suite, "--out", self.out, "--timeout", 10, "--max-time", 1,
                                      "--launcher", " ".join(self.hosts.mpirun(4)))
        with open(self.folder / "stderr.txt", "w") as errors:
            process = subprocess.Popen(command, env=self.variables, stdout=subprocess.DEVNULL, stderr=errors)
        self.addCleanup(lambda: process.poll() is None and (process.kill(), process.wait()))
        self.wait_until(lambda: len(self.journal_rows()) >= 1, process)
        strike()
        process.wait(timeout=600)
        self.assertEqual(process.returncode, 7, (self.folder / "stderr.txt").read_text())
        rows = self.rows()
        self.assertEqual(len(rows), 6)
        self.assertEqual(rows[0]["status"], "ok", "a finished row was lost")
        lost = [row for row in rows if row["status"] in ("failed", "timeout")]
        self.assertTrue(lost)
        for row in rows:
            self.assertEqual(row["time_s"] is None, row["status"] != "ok", row["reason"])
        self.assertEqual(self.children_at_work(), [], "a process was left behind")
        return lost

    def a_cable_that_is_cut(self, transport):
        for row in self.struck(transport, self.hosts.cut):  # those that were under way, and those that could not begin any more
            self.assertRegex(row["reason"], f"ranks 2, 3 on {list(HOSTS)[1]} did not report")

    def test_a_rank_that_is_stopped_on_the_other_host(self):
        def stop():
            self.process = int([event for event in self.journal() if event["event"] == "launch"][-1]["rank_processes"][3])
            os.kill(self.process, signal.SIGSTOP)
        (row,) = self.struck("mpi", stop)
        self.assertEqual(row["status"], "timeout")
        self.assertIn(f": rank 3 (process {self.process} on {list(HOSTS)[1]}) is stopped", row["reason"])
        # Each host was asked by the launcher itself; this machine's /proc alone would show the process here, too.
        answers = (self.out / "log" / "stopped.out.txt").read_text().split("\n")
        for host in HOSTS:
            self.assertIn(f"{host} asked", answers)
            self.assertIn(f"{host} stopped {self.process} 3", answers)

    def test_a_cable_that_is_cut_under_mpi(self):
        self.a_cable_that_is_cut("mpi")

    def test_a_cable_that_is_cut_under_gloo(self):
        self.a_cable_that_is_cut("gloo")

    def test_a_cable_that_is_cut_under_oneccl(self):
        self.a_cable_that_is_cut("oneccl")


if __name__ == "__main__":
    main(verbosity=2)
