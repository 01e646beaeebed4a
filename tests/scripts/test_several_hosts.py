#!/usr/bin/env python3
# full
"""Ranks on two hosts (namespaces of this machine): transports see two nodes and keep their contract."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from hosts_helper import Hosts, why_not
from run_helper import BUILD

CONTRACT = BUILD / "tests" / "bin" / "contract"
REASON = why_not()


@unittest.skipIf(REASON, f"unsupported: {REASON}")
class SeveralHosts(unittest.TestCase):
    def setUp(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="assay-hosts-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        self.hosts = self.enterContext(Hosts(folder))
        self.environment = {**os.environ, "ASSAY_PLUGIN_PATH": str(BUILD / "lib" / "assay"), "OMP_NUM_THREADS": "1",
                            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def contract(self, transport, ranks, *words):
        command = self.hosts.on_first(*self.hosts.mpirun(ranks), "-x", "ASSAY_PLUGIN_PATH", "-x", "OMP_NUM_THREADS", CONTRACT,
                                      transport, "--expect-nodes", 2, *words)
        done = subprocess.run(command, env=self.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
        if "unsupported: " in done.stdout:
            self.skipTest(done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn(f"{transport} on {ranks} ranks, 2 nodes", done.stdout)

    def test_mpi(self):
        self.contract("mpi", 4)

    def test_gloo(self):
        self.contract("gloo", 4)

    def test_oneccl(self):
        self.contract("oneccl", 2, "--ordered")


if __name__ == "__main__":
    unittest.main(verbosity=2)
