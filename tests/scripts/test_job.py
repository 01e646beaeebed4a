#!/usr/bin/env python3
"""`assay job`: the script that each batch system gets (golden files), submitting, following, and what a bad request is told.
Slurm is tried for real in test_slurm.py; PBS, LSF and Fujitsu's TCS are fakes (fake_batch.py)."""
import json
import os
import re
import shutil
import socket
import unittest

from run_helper import ASSAY, BIN, SOURCE, RunTest, group

GOLDEN = SOURCE / "tests" / "scripts" / "golden"
SYSTEMS = ("slurm", "pbs", "lsf", "pjsub")


class Job(RunTest):
    def setUp(self):
        super().setUp()
        self.work = self.suite([{"benchmark": "conv", "problem": ["mb1ic8ih8oc8oh8kh3ph1"], "backend": ["reference"], "threads": [1]}])

    def job(self, launcher, *words, code=0, env=None):
        return self.command(ASSAY, "job", self.work, "--launcher", launcher, "--time", "90", "--out", self.out, *words, code=code, env=env,
                            cwd=self.folder)

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
                for path, name in ((self.out, "OUT"), (self.work, "SUITE"), (BIN.resolve(), "BIN"), (self.folder, "START")):
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
        self.assertIn("1 of 1 node has a result", done.stdout)
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
        self.assertIn("slower than 1.1 times the typical time: 0 of 1 pair\n", done.stdout)
        self.assertNotIn("MISSING", done.stdout)
        self.assertTrue((self.out / "node0+node1" / "result.json").exists())
        (self.folder / "dies.sh").write_text("exit 1\n")
        done = self.job("pbs", *words, "--setup", self.folder / "dies.sh", env=environment, code=7)
        self.assertIn("has ended without a result", done.stderr)

    @unittest.skipIf(os.geteuid() != 0 or shutil.which("unshare") is None, "a UTS namespace for each node needs root")
    def test_a_job_of_nodes_and_pairs_ends_as_the_gravest(self):
        environment = self.fakes()
        nodes = self.folder / "nodefile"
        nodes.write_text("node0\nnode1\n")
        environment["PBS_NODEFILE"] = str(nodes)
        # The suite has no case of several ranks, so the pair has no result.
        done = self.job("pbs", "--nodes", 2, "--queue", "q", "--account", "a", "--submit", "--run", "--per-node --pairs",
                        env=environment, code=7)
        self.assertIn("2 of 2 nodes have a result", done.stdout)
        self.assertIn("MISSING: node0+node1", done.stdout)
        done = self.command(ASSAY, "accept", self.out, "--criteria", "acceptance", code=None)
        self.assertIn("between node0 and node1: no result", done.stdout)

    def test_a_job_without_a_result_is_told(self):
        environment = self.fakes()
        (self.folder / "dies.sh").write_text("exit 1\n")
        done = self.job("pbs", "--nodes", 1, "--queue", "q", "--account", "a", "--submit", "--setup", self.folder / "dies.sh",
                        env=environment, code=7)
        self.assertRegex(done.stderr, rf"job \S+ has ended without a result. Its output in {self.out} says why. .*submits the rest again")

    def test_a_job_ends_as_its_run(self):
        self.work = self.suite([group(["direct", "hang"])])
        words = ["--nodes", 1, "--queue", "q", "--account", "a", "--submit", "--run", "--walltime 0:04 --timeout 1000"]
        done = self.job("pbs", *words, env=self.fakes(), code=6)
        self.assertRegex(done.stdout, "left out: .*hang")
        # The job was asked for several times, and its state is told once, without all that qstat prints beside it.
        self.assertEqual(re.findall("(?m)^assay job: job .*$", done.stderr), ["assay job: job 1000.fake: job_state=R"])

    def test_nodes_are_handed_on(self):
        self.job("slurm", "--nodes", 2, "--hosts", "a,b")
        self.assertIn(" --hosts a,b ", (self.out / "job.sh").read_text())
        self.job("slurm", "--nodes", "1,2,4", "--ranks-per-node", 2)
        script = (self.out / "job.sh").read_text()
        self.assertIn("#SBATCH --nodes=4\n", script)
        self.assertIn(" --nodes 1,2,4 ", script)

    def test_a_job_has_room_for_the_ranks_of_its_suite(self):
        groups = [group(["direct"], backend="reference")]
        self.work = self.suite(groups, launch={"ranks": 2})
        room = {"slurm": ["--nodes=1", "--ntasks-per-node=2"], "pbs": ["-l select=1"], "lsf": ["-nnodes 1"],
                "pjsub": ["-L node=1", "--mpi proc=2", "--mpi max-proc-per-node=2"]}
        for system in SYSTEMS:
            self.expect_directives(system, room[system])
        self.expect_directives("pjsub", ["-L node=1", "--mpi proc=4", "--mpi max-proc-per-node=4"], "--ranks", "1,4")
        self.expect_directives("pjsub", ["-L node=2", "--mpi proc=3", "--mpi max-proc-per-node=2"], "--ranks", 3, "--nodes", 2)
        self.expect_directives("pjsub", ["-L node=1", "--mpi proc=3", "--mpi max-proc-per-node=3"], "--ranks-per-node", 3)
        # Every node runs the suite by itself, started by one process.
        self.expect_directives("pjsub", ["-L node=4", "--mpi max-proc-per-node=1"], "--nodes", 4, "--run", "--per-node")
        self.work = self.suite(groups, launch=[{"nodes": n, "ranks_per_node": 2} for n in (1, 4)])
        self.expect_directives("pjsub", ["-L node=4", "--mpi proc=8", "--mpi max-proc-per-node=2"])
        self.expect_directives("pjsub", ["-L node=2", "--mpi proc=2", "--mpi max-proc-per-node=1"], "--nodes", "1,2", "--ranks-per-node", 1)

    def expect_directives(self, system, expected, *words):
        """The job's directives of nodes and processes are these."""
        with self.subTest((system, *words)):
            self.job(system, *words)
            found = re.findall(r"(?m)^#[A-Z]+ (-l select=.*|-nnodes .*|-L node=.*|--mpi .*|--n.*=.*)$", (self.out / "job.sh").read_text())
            self.assertEqual(found, expected)

    def test_ranks_of_a_suite_are_started_by_a_fake_system(self):
        self.work = self.suite([group(["direct"], backend="reference")], launch={"ranks": 2})
        self.job("pjsub", "--queue", "q", "--account", "a", "--submit", env=self.fakes(), code=0)
        self.expect_ok(self.rows(), 1)

    def test_ranks_of_a_site_are_not_those_of_every_node(self):
        site = self.folder / "mine.json"
        site.write_text(json.dumps({"schema": "assay-site/1", "name": "mine", "system": "Mine", "description": "ours", "launcher": "slurm",
                                    "processes": {"ranks_per_node": 4, "threads_per_rank": 2, "bind": "core"}}))
        self.job("slurm", "--site", "mine.json", "--nodes", 2, "--run", "--per-node")
        script = (self.out / "job.sh").read_text()
        for word in ("ranks-per-node", "threads-per-rank", "bind", "ntasks-per-node"):
            self.assertNotIn(word, script)
        self.job("slurm", "--site", "mine.json", "--nodes", 2)
        self.assertIn("--ranks-per-node 4", (self.out / "job.sh").read_text())

    def test_the_way_in_the_docs(self):
        """The jobs of "From nothing to an acceptance report" (docs/sites.md), but for --submit, and its site file."""
        text = (SOURCE / "docs" / "sites.md").read_text()
        site = self.folder / "mine.json"
        site.write_text(re.search(r"(?s)```json\n(.*?)```", text)[1])
        lines = re.findall(r"(?m)^build/bin/assay (job .*) --submit\b", text)
        self.assertEqual(len(lines), 2)
        for line in lines:
            words = [str(site) if word == "mine" else word for word in line.split()]
            self.command(ASSAY, *words, cwd=self.folder, code=0)
            script = (self.folder / words[words.index("--out") + 1] / "job.sh").read_text()
            self.assertIn("module load gcc openmpi", script)

    def test_a_suites_name_adds_no_line_to_the_script(self):
        self.work.write_text(self.work.read_text().replace('"name": "test"', r'"name": "x\ntouch stolen; #"'))
        for system in SYSTEMS:
            with self.subTest(system):
                self.job(system, "--nodes", 1)
                script = (self.out / "job.sh").read_text()
                self.assertRegex(script, r"(?m)^#\w+ \S*assay-x_touch_stolen___$|^#\w+ -\w assay-x_touch_stolen___$")
                self.assertNotRegex(script, "(?m)^touch")

    def test_a_folder_that_no_directive_can_name(self):
        for name in ("my results", "a\nb", 'a"b'):
            with self.subTest(name):
                self.out = self.folder / name
                self.assertIn("cannot be the folder of a batch job", self.job("slurm", "--nodes", 1, code=2).stderr)
                self.assertFalse(self.out.exists())

    def test_a_refused_submission_is_told(self):
        done = self.job("pbs", "--nodes", 1, "--submit", env=self.fakes(), code=7)  # no queue: the fake site wants one
        self.assertIn("fake qsub: no directive -q q", done.stderr)

    def test_bad_requests(self):
        for words, message in (
                (["--launcher", "slrum"], "Did you mean 'slurm'?"),
                (["--launcher", "mpirun"], "Choose the launcher of a batch system: lsf, pbs, pjsub, slurm."),
                (["--launcher", "slurm", "--time", "soon"], "--time soon is not a time"),
                (["--launcher", "slurm", "--time", "0"], "--time 0 is not a time"),
                (["--launcher", "slurm", "--setup", "/none"], "--setup /none: cannot be read"),
                (["--launcher", "slurm", "--run", "--launchs 5"], "--run \"--launchs 5\": unknown flag '--launchs'"),
                (["--launcher", "slurm", "--nodes", "2", "--run", "--nodes 3"], "--nodes was given more than once"),
                (["--launcher", "slurm", "--ranks-per-node", "2", "--run", "--per-node"], "--ranks-per-node cannot be used with --per-node"),
                (["--launcher", "lsf", "--nodes", "2", "--run", "--pairs"], "--pairs cannot be used with the launcher lsf"),
                (["--launcher", "slurm", "--ranks", "2", "--ranks-per-node", "2"], "both give the number of processes"),
                (["--launcher", "slurm", "--run", "--pairs"], "--pairs needs at least two nodes (the job would have one)"),
                (["--launcher", "lsf", "--ranks", "2", "--bind", "socket"], "unknown binding")):
            with self.subTest(words):
                given = [*words, *([] if "--time" in words else ["--time", "30"])]
                done = self.command(ASSAY, "job", self.work, *given, "--out", self.out, code=2)
                self.assertIn(message, done.stderr)
                self.assertFalse((self.out / "job.sh").exists())


if __name__ == "__main__":
    unittest.main()
