#!/usr/bin/env python3
# full
"""A real Slurm of two and of three nodes on this machine (slurm_helper.py): srun, sbatch, a time limit that ends a job, a node that
is lost, and the way from nothing to an acceptance report."""
import json
import os
import signal
import subprocess
import unittest

from run_helper import ASSAY, SOURCE, RunTest, group
from slurm_helper import NODES, Slurm, find, why_not

ALLREDUCE = {"benchmark": "collectives", "bytes": [1024], "transport": ["mpi"], "algorithm": ["ring"]}
PROBLEMS = [f"mb{n}ic8ih8oc8oh8kh3ph1" for n in range(1, 5)]


class Cluster(RunTest):
    nodes = NODES

    def setUp(self):
        super().setUp()
        self.assertIsNone(why_not())
        self.cluster = self.enterContext(Slurm(self.folder / "slurm", self.nodes))

    def enterContext(self, manager):  # Python 3.11 has it
        result = manager.__enter__()
        self.addCleanup(manager.__exit__, None, None, None)
        return result

    def on_cluster(self, **more):
        return {**self.environment(**more), "SLURM_CONF": self.cluster.environment["SLURM_CONF"]}


class TwoNodes(Cluster):
    def within(self, *words, nodes=2, env=None, code=None):
        """A command within an allocation of nodes."""
        return self.command(find("salloc"), "--nodes", nodes, "--exclusive", "--quiet", *words, env=env or self.on_cluster(), code=code)

    def test_outside_of_an_allocation(self):
        done = self.run_suite(self.suite([group(["direct"])]), "--launcher", "slurm", env=self.on_cluster(), code=2)
        self.assertIn("SLURM_JOB_ID is not set", done.stderr)
        self.assertIn("salloc", done.stderr)

    def test_srun_over_two_nodes(self):
        suite = self.suite([ALLREDUCE, group(["direct"], backend="reference")],
                           launch=[{"nodes": 1, "ranks_per_node": 2}, {"nodes": 2, "ranks_per_node": 1}])
        self.within(ASSAY, "run", suite, "--launcher", "slurm", "--bind", "none", "--out", self.out, code=0)
        rows = self.expect_ok(self.rows(), 3)
        self.assertEqual(sorted((row["parameters"]["ranks"], row["parameters"]["nodes"]) for row in rows
                                if row["benchmark"] == "collectives"), [(2, 1), (2, 2)])
        environments = json.loads((self.out / "result.json").read_text())["environments"]
        hosts = [environments[row["environment"]].get("rank_hosts") for row in rows if row["parameters"].get("nodes") == 2]
        self.assertEqual(hosts, [list(NODES)])
        self.within(ASSAY, "run", self.suite([ALLREDUCE]), "--launcher", "slurm", "--nodes", "1,2", "--ranks-per-node", 1, "--bind", "none",
                    "--out", self.folder / "list", code=0)
        rows = json.loads((self.folder / "list" / "result.json").read_text())["rows"]
        self.assertEqual(sorted((row["parameters"]["ranks"], row["parameters"]["nodes"]) for row in rows), [(1, 1), (2, 2)])

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one core")
    def test_the_binding_is_read_back(self):
        suite = self.suite([group(["direct"], backend="reference")])
        words = [ASSAY, "run", suite, "--launcher", "slurm", "--nodes", 2, "--ranks-per-node", 2, "--threads-per-rank", 1]
        self.within(*words, "--bind", "core", "--out", self.out, code=0)
        done = self.within(*words[:-1], os.cpu_count(), "--bind", "core", "--out", self.folder / "many", code=7)
        self.assertIn("More processors requested", done.stderr)  # two ranks with all of a node's cores each
        # A launcher that is asked for a binding and does none: srun starts all, and the ranks themselves tell.
        launcher = json.loads((SOURCE / "scripts" / "launchers" / "slurm.json").read_text())
        launcher["binding"]["core"] = "none"
        (self.folder / "forgets.json").write_text(json.dumps(launcher))
        words[words.index("slurm")] = self.folder / "forgets.json"
        done = self.within(*words, "--bind", "core", "--out", self.folder / "unbound", code=7)
        self.assertRegex(done.stderr, "pre-flight failed: rank .* but should be bound to one")

    def test_every_node_at_once(self):
        suite = self.suite([group(["direct"], PROBLEMS, backend="reference")])
        done = self.within(ASSAY, "run", suite, "--per-node", "--launcher", "slurm", "--out", self.out, code=0)
        self.assertIn("2 of 2 nodes have a result", done.stdout)
        self.command(ASSAY, "gather", self.out, "--node-file", self.out / "nodes.txt", "--out", self.folder / "fleet.json", code=0)
        for node in NODES:
            result = json.loads((self.out / node / "result.json").read_text())
            self.assertEqual(len(result["rows"]), len(PROBLEMS))
            self.assertEqual({environment["host"] for environment in result["environments"]}, {node})

    def test_local_folders_of_nodes_are_collected(self):
        suite = self.suite([group(["direct"], PROBLEMS[:1], backend="reference")])
        local = self.folder / "local"
        done = self.within(ASSAY, "run", suite, "--per-node", "--local-results", local, "--launcher", "slurm", "--out", self.out, code=0)
        self.assertIn("collected 2 of 2 nodes", done.stderr)
        for node in NODES:
            self.assertEqual((self.out / node / "result.json").read_bytes(), (local / node / "result.json").read_bytes())

    def test_pairs(self):
        suite = self.suite([ALLREDUCE])
        done = self.within(ASSAY, "run", suite, "--pairs", "--launcher", "slurm", "--bind", "none", "--out", self.out, code=0)
        self.assertIn("slower than 1.1 times the typical time: 0 of 1 pair\n", done.stdout)
        self.assertTrue((self.out / "+".join(NODES) / "result.json").exists())

    def job(self, suite, *words, env=None, code=None):
        done = self.command(ASSAY, "job", suite, "--launcher", "slurm", "--nodes", 2, "--ranks-per-node", 1, "--bind", "none",
                            "--time", 1, "--submit", "--out", self.out, *words, env=env or self.on_cluster())
        said = [file.read_text() for file in sorted(self.out.glob("job-*.txt"))]
        self.assertEqual(done.returncode, code, f"{done.stderr}\n{said}")
        return done

    def test_a_job_from_submission_to_result(self):
        done = self.job(self.suite([ALLREDUCE]), code=0)
        self.expect_ok(self.rows(), 1)
        self.assertIn("submitted as", done.stderr)

    def test_a_time_limit_and_the_second_submission(self):
        # The first job hangs in a case until its limit of a minute; the second repeats only what is missing.
        suite = self.suite([group(["direct", "hang"], PROBLEMS[:2])])
        self.job(suite, "--run", "--timeout 10000 --walltime 10:00", code=7)
        before = self.journal_rows()
        self.assertFalse((self.out / "result.json").exists())
        self.job(suite, "--run", "--timeout 10000 --walltime 10:00", env=self.on_cluster(ASSAY_FAULT_OFF="1"), code=0)
        self.assertEqual(self.journal_rows()[:len(before)], before)
        last = {row["id"]: row for row in self.rows()}  # an attempt that the limit ended stands before it
        self.expect_ok(last.values(), 4)

    def test_a_node_that_is_lost_in_mid_run(self):
        suite = self.suite([group(["hang"])])
        errors = open(self.folder / "stderr.txt", "w+")
        self.addCleanup(errors.close)
        process = subprocess.Popen([ASSAY, "job", str(suite), "--launcher", "slurm", "--nodes", "2", "--time", "10", "--run",
                                    "--per-node --timeout 20", "--submit", "--out", str(self.out)], env=self.on_cluster(),
                                   stdout=subprocess.PIPE, stderr=errors, text=True)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        self.wait_until(lambda: all(self.has_begun(self.out / node / "journal.jsonl") for node in NODES), process)
        self.lose(NODES[1])  # the script of the job runs on the first
        said, _ = process.communicate(timeout=400)
        errors.seek(0)
        log = [file.read_text() for file in self.out.glob("job-*.txt")]
        self.assertEqual(process.returncode, 7, f"{said}{errors.read()}\n{log}")
        self.assertIn(f"MISSING: {NODES[1]}", said)
        self.assertEqual(json.loads((self.out / NODES[0] / "result.json").read_text())["rows"][0]["status"], "timeout")

    @staticmethod
    def has_begun(journal):
        return journal.exists() and '"event":"begin"' in journal.read_text()

    def lose(self, node):
        """All of a node's processes end at once, as with its power."""
        space = os.readlink(f"/proc/{self.cluster.daemons[node].pid}/ns/uts")
        for process in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{process}/ns/uts") == space:
                    os.kill(int(process), signal.SIGKILL)
            except OSError:  # ended meanwhile
                pass
        self.cluster.daemons.pop(node).wait()


class ThreeNodes(Cluster):
    """There are as many nodes as acceptance needs: it compares a node with the others."""
    nodes = (*NODES, "assaynode3")

    def job(self, suite, kind, code):
        out = self.folder / kind.strip("-")
        done = self.command(ASSAY, "job", suite, "--site", self.site, "--nodes", 3, "--time", 10, "--run", kind, "--out", out, "--submit",
                            env=self.on_cluster())
        said = [file.read_text() for file in sorted(out.glob("job-*.txt"))]
        self.assertIn(done.returncode, code, f"{done.stdout}{done.stderr}\n{said}")
        return done.stdout

    def accept(self, code):
        acceptance = self.folder / "acceptance.json"
        done = self.command(ASSAY, "accept", self.folder / "per-node", "--criteria", "acceptance", "--format", "json", "--out", acceptance)
        self.assertIn(done.returncode, code, done.stderr)
        return json.loads(acceptance.read_text())

    def test_from_nothing_to_an_acceptance_report(self):
        """The commands of docs/sites.md, with suites of a moment. The nodes share this machine's cores: which is slow is chance."""
        self.site = self.folder / "mine.json"
        self.site.write_text(json.dumps({"schema": "assay-site/1", "name": "mine", "system": "Three nodes", "description": "x",
                                         "launcher": "slurm", "queue": "debug", "setup": ["export ASSAY_SETUP=1"],
                                         "processes": {"ranks_per_node": 1, "bind": "none"}}))
        said = self.job(self.suite([group(["direct"], PROBLEMS, backend="reference")]), "--per-node", (0,))
        self.assertIn("3 of 3 nodes have a result", said)
        said = self.job(self.suite([ALLREDUCE], name="links"), "--pairs", (0, 4))
        self.assertIn(" of 3 pairs\n", said)
        document = self.accept((0, 4, 5))
        self.assertIsNone(document["not_compared"])
        self.assertEqual([(node["node"], len(node["rows"])) for node in document["nodes"]], [(node, len(PROBLEMS)) for node in self.nodes])
        page = self.folder / "report.html"
        self.command(ASSAY, "report", self.folder / "per-node", self.folder / "acceptance.json", "--out", page, code=0)
        for text in (*self.nodes, "Three nodes"):
            self.assertIn(text, page.read_text())
        # A node's result is lost: it is missing, although nobody gives a list.
        (self.folder / "per-node" / self.nodes[2] / "result.json").unlink()
        document = self.accept((6,))
        self.assertEqual({node["node"]: node["reason"] for node in document["nodes"]}[self.nodes[2]], "the node has no result")


if __name__ == "__main__":
    unittest.main()
