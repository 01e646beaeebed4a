#!/usr/bin/env python3
"""`assay job`: the script that each batch system gets (golden files), submitting, following, and what a bad request is told.
Slurm is tried for real in test_slurm.py; PBS, LSF and Fujitsu's TCS are fakes (fake_batch.py)."""
import json
import os
import shutil
import socket
import unittest

from run_helper import ASSAY, BIN, SOURCE, RunTest

GOLDEN = SOURCE / "tests" / "scripts" / "golden"
SYSTEMS = ("slurm", "pbs", "lsf", "pjsub")


class Job(RunTest):
    def setUp(self):
        super().setUp()
        self.work = self.suite([{"benchmark": "conv", "problem": ["mb1ic8ih8oc8oh8kh3ph1"], "backend": ["reference"], "threads": [1]}])

    def job(self, launcher, *words, code=0, env=None):
        return self.command(ASSAY, "job", self.work, "--launcher", launcher, "--time", "90", "--out", self.out, *words, code=code, env=env)

    def fakes(self):
        """An environment whose batch systems are fakes."""
        folder = self.folder / "fake"
        folder.mkdir()
        for name in ("qsub", "qstat", "bsub", "bjobs", "pjsub", "pjstat", "mpiexec", "jsrun"):
            (folder / name).symlink_to(SOURCE / "tests" / "scripts" / "fake_batch.py")
        environment = self.environment(FAKE_BATCH=str(folder))
        environment["PATH"] = f"{folder}:{environment['PATH']}"
        return environment

    def test_scripts_are_as_kept(self):
        for system in SYSTEMS:
            with self.subTest(system):
                bind = "none" if system == "slurm" else "core"
                self.job(system, "--nodes", 16, "--ranks-per-node", 4, "--threads-per-rank", 12, "--bind", bind, "--queue", "batch",
                         "--account", "ABC123", "--run", "--launches 5", "--setup", self.setup_file())
                script = (self.out / "job.sh").read_text()
                for path, name in ((self.out, "OUT"), (self.work, "SUITE"), (BIN.resolve(), "BIN")):
                    script = script.replace(str(path), name)
                golden = GOLDEN / f"job-{system}.sh"
                self.assertEqual(script, golden.read_text(), f"{golden} differs")

    def setup_file(self):
        file = self.folder / "setup.sh"
        file.write_text("module load gcc openmpi\nexport OMP_PLACES=cores")
        return file

    def test_fake_systems_run_it_to_its_result(self):
        environment = self.fakes()
        for system in ("pbs", "lsf", "pjsub"):
            with self.subTest(system):
                self.out = self.folder / system
                words = ["--ranks-per-node", 2, "--nodes", 1, "--queue", "q", "--account", "a", "--submit"]
                done = self.job(system, *words, env=environment)
                self.expect_ok(self.rows(), 1)
                self.assertIn("submitted as 100", done.stderr)
                self.assertIn("result.json", done.stdout)
                log = [json.loads(line) for line in (self.folder / "fake" / "launched").read_text().split("\n")[:-1]]
                program, flag = ("jsrun", "--nrs") if system == "lsf" else ("mpiexec", "-n")
                counts = {flags[flag] for name, flags in log if name == program}
                self.assertEqual(counts, {"2"}, log)

    def test_a_job_of_every_node_is_collected(self):
        environment = self.fakes()
        nodes = self.folder / "nodefile"
        nodes.write_text(socket.gethostname() + "\n")
        environment["PBS_NODEFILE"] = str(nodes)
        words = ["--nodes", 1, "--queue", "q", "--account", "a", "--submit", "--run", "--per-node"]
        done = self.job("pbs", *words, env=environment)
        self.assertIn("1 of 1 nodes have a result", done.stdout)
        self.assertIn(f"assay accept {self.out} --criteria acceptance", done.stdout)
        self.job("pbs", *words, env=environment)  # the second job finds it done
        (self.folder / "dies.sh").write_text("exit 1\n")
        done = self.job("pbs", *words, "--setup", self.folder / "dies.sh", env=environment, code=7)
        self.assertIn("has ended without a result", done.stderr)

    @unittest.skipIf(os.geteuid() != 0 or shutil.which("unshare") is None, "a UTS namespace for each node needs root")
    def test_a_job_of_pairs_is_collected(self):
        environment = self.fakes()
        nodes = self.folder / "nodefile"
        nodes.write_text("node0\nnode1\n")
        environment["PBS_NODEFILE"] = str(nodes)
        words = ["--nodes", 2, "--queue", "q", "--account", "a", "--submit", "--run", "--pairs"]
        done = self.job("pbs", *words, env=environment)
        self.assertIn("0 of 1 pairs are slower than 1.1 times the median", done.stdout)
        self.assertNotIn("MISSING", done.stdout)
        self.assertTrue((self.out / "node0+node1" / "result.json").exists())
        (self.folder / "dies.sh").write_text("exit 1\n")
        done = self.job("pbs", *words, "--setup", self.folder / "dies.sh", env=environment, code=7)
        self.assertIn("has ended without a result", done.stderr)

    def test_a_job_without_a_result_is_told(self):
        environment = self.fakes()
        (self.folder / "dies.sh").write_text("exit 1\n")
        done = self.job("pbs", "--nodes", 1, "--queue", "q", "--account", "a", "--submit", "--setup", self.folder / "dies.sh",
                        env=environment, code=7)
        self.assertRegex(done.stderr, r"job \S+ has ended without a result.*submits the rest again")

    def test_a_refused_submission_is_told(self):
        done = self.job("pbs", "--nodes", 1, "--submit", env=self.fakes(), code=7)  # no queue: the fake site wants one
        self.assertIn("fake qsub: no directive -q q", done.stderr)

    def test_bad_requests(self):
        for words, message in (
                (["--launcher", "slrum"], "Did you mean 'slurm'?"),
                (["--launcher", "mpirun"], "Choose the launcher of a batch system: lsf, pbs, pjsub, slurm."),
                (["--launcher", "slurm", "--time", "soon"], "--time soon is not a time"),
                (["--launcher", "slurm", "--time", "0"], "--time 0 is not a time"),
                (["--launcher", "slurm", "--setup", "/none"], "--setup /none cannot be read"),
                (["--launcher", "lsf", "--ranks", "2", "--bind", "socket"], "unknown binding")):
            with self.subTest(words):
                given = [*words, *([] if "--time" in words else ["--time", "30"])]
                done = self.command(ASSAY, "job", self.work, *given, "--out", self.out, code=2)
                self.assertIn(message, done.stderr)
                self.assertFalse((self.out / "job.sh").exists())


if __name__ == "__main__":
    unittest.main()
