#!/usr/bin/env python3
"""`assay run --launcher NAME`: shapes of process groups, a site's own launcher, the pre-flight, and resuming what failed."""
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import unittest

from run_helper import ASSAY, DEADLINE, SMALL, RunTest, group

OWN = """#!/usr/bin/env python3
# A site's launcher: starts COUNT processes with variables that Assay does not know.
import os, subprocess, sys
count = int(sys.argv[1])
ranks = [subprocess.Popen(sys.argv[2:], env={**os.environ, "SITE_RANK": str(i), "SITE_SIZE": str(count)}) for i in range(count)]
sys.exit(max(rank.wait() for rank in ranks))
"""


class Launchers(RunTest):
    def setUp(self):
        super().setUp()
        self.data = self.folder / "data"
        (self.data / "scripts" / "launchers").mkdir(parents=True)
        self.start = self.folder / "start-ranks"
        self.start.write_text(OWN)
        self.start.chmod(self.start.stat().st_mode | stat.S_IXUSR)

    def own(self, **more):
        """The site's launcher, in a folder that programs look into."""
        launcher = {"schema": "assay-launcher/1", "name": "own", "description": "ours", "command": [str(self.start), "{ranks}"],
                    "variables": {"rank": "SITE_RANK", "size": "SITE_SIZE"}, **more}
        (self.data / "scripts" / "launchers" / "own.json").write_text(json.dumps({k: v for k, v in launcher.items() if v is not None}))
        return self.environment(ASSAY_DATA_PATH=str(self.data))

    def by_name(self, hosts="{hosts}"):
        """A launcher's command that has each rank on a node of its own, by its host name."""
        name_it = 'hostname "$(echo "$0" | cut -d , -f $((SITE_RANK + 1)))" && exec "$@"'
        return [str(self.start), "{ranks}", "unshare", "--uts", "sh", "-c", name_it, hosts]

    def site(self, **more):
        file = self.folder / "mine.json"
        file.write_text(json.dumps({"schema": "assay-site/1", "name": "mine", "system": "Mine", "description": "ours", "launcher": "mpirun",
                                    **more}))
        return file

    def test_a_site_adds_its_launcher_as_a_file(self):
        env = self.own()
        self.assertIn("ours", self.command(ASSAY, "list", "launchers", env=env, code=0).stdout)
        suite = self.suite([group(["direct"], backend="reference")])
        self.run_suite(suite, "--launcher", "own", "--nodes", 1, "--ranks-per-node", 3, env=env, code=0)
        self.expect_ok(self.rows(), 1)  # rank 0 has measured; the others knew that they were others
        run = json.loads((self.out / "result.json").read_text())["run"]
        self.assertEqual(run["shapes"], [{"nodes": 1, "ranks_per_node": 3}])

    def test_a_launcher_may_print_lines_of_its_own(self):
        self.start.write_text(OWN.replace("ranks = [", 'print("[1] Loading modules", flush=True)\nprint("[]\\n[]: {done", flush=True)\nranks = [')
                              .replace("sys.exit(", 'code = ').replace("for rank in ranks))", 'for rank in ranks)\nprint("[job ended]")\nsys.exit(code)'))
        suite = self.suite([group(["direct"], backend="reference")])
        self.run_suite(suite, "--launcher", "own", "--nodes", 1, "--ranks-per-node", 2, env=self.own(), code=0)
        self.expect_ok(self.rows(), 1)

    def test_unknown_variables_are_found_before_anything_is_timed(self):
        suite = self.suite([group(["direct"], backend="reference")])
        done = self.run_suite(suite, "--launcher", "own", "--nodes", 1, "--ranks-per-node", 2, env=self.own(variables=None), code=7)
        self.assertIn("pre-flight failed", done.stderr)
        self.assertIn("the environment variables of the launcher are unknown", done.stderr)
        self.assertIn(f"the files in {self.data / 'scripts' / 'launchers'}", done.stderr)  # where a file given by its path would have to be
        self.assertEqual(self.journal_rows(), [])

    def test_too_few_processes_or_nodes_fail_the_pre_flight(self):
        suite = self.suite([group(["direct"], backend="reference")])
        done = self.run_suite(suite, "--launcher", "own", "--nodes", 2, "--ranks-per-node", 1, env=self.own(), code=7)
        self.assertIn("the processes are on 1 node, 2 were requested", done.stderr)
        done = self.run_suite(suite, "--launcher", "own", "--nodes", 1, "--ranks-per-node", 2,
                              env=self.own(command=[str(self.start), "3"]), code=7)
        self.assertIn("3 processes were started, 2 were requested", done.stderr)

    def test_one_thread_where_more_were_asked(self):
        suite = self.suite([group(["direct"], backend="reference")])
        env = {**self.own(), "OMP_THREAD_LIMIT": "1"}
        done = self.run_suite(suite, "--launcher", "own", "--nodes", 1, "--ranks-per-node", 1, "--threads-per-rank", 2, env=env, code=7)
        self.assertIn("pre-flight failed: rank 0", done.stderr)

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one core: every rank is on it")
    def test_a_binding_that_is_not_done_is_found(self):
        suite = self.suite([group(["direct"], backend="reference")])
        env = self.own(binding={"core": "never"})
        done = self.run_suite(suite, "--launcher", "own", "--nodes", 1, "--ranks-per-node", 2, "--bind", "core", env=env, code=7)
        self.assertIn("but should be bound to one", done.stderr)

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one core: all threads are one in every process")
    def test_no_case_of_one_process_is_joint(self):
        """A launcher may bind its processes, which then have other threads than a process alone."""
        suite = self.suite([group(["direct"], backend="reference", threads=["all"])])
        core = str(min(os.sched_getaffinity(0)))
        env = self.own(command=["taskset", "-c", core, str(self.start), "{ranks}"])
        done = self.run_suite(suite, "--launcher", "own", "--nodes", 1, "--ranks-per-node", 2, "--joint", env=env, code=2)
        self.assertIn("no cases of several ranks", done.stderr)

    def test_a_scaling_study_is_one_suite(self):
        collective = {"benchmark": "collectives", "bytes": [1024], "transport": ["mpi"], "algorithm": ["ring"]}
        suite = self.suite([collective, group(["direct"], backend="reference")],
                           launch=[{"nodes": 1, "ranks_per_node": n} for n in (1, 2, 4)])
        self.run_suite(suite, "--launcher", "mpirun", "--bind", "none", code=0)
        rows = self.rows()
        self.assertEqual(sorted(row["parameters"]["ranks"] for row in rows if row["benchmark"] == "collectives"), [1, 2, 4])
        self.assertEqual(sum(row["benchmark"] == "conv" for row in rows), 1, "a case of one process is measured once")
        self.run_suite(suite, "--launcher", "mpirun", "--bind", "none", "--resume", code=0)
        self.assertEqual(len(self.rows()), len(rows))

    def test_a_resumed_run_repeats_what_failed_and_keeps_the_attempt(self):
        suite = self.suite([group(["direct", "crash"])])
        self.run_suite(suite, code=7)
        crash = [row for row in self.rows() if row["status"] == "failed"]
        self.assertEqual(len(crash), 1)
        # The cause is mended: the same case, whose backend now computes honestly.
        self.run_suite(suite, "--resume", env=self.environment(ASSAY_FAULT_OFF="1"), code=0)
        rows = [row for row in self.rows() if row["id"] == crash[0]["id"]]
        self.assertEqual([row["status"] for row in rows], ["failed", "ok"])
        self.assertLess(rows[0]["attempt"], rows[1]["attempt"])
        self.assertEqual(sum(row["status"] == "ok" for row in self.rows()), 2, "what was finished was not run again")

    def test_a_site_without_its_accelerator_measures_nothing(self):
        suite = self.suite([group(["direct"], backend="reference")])
        done = self.run_suite(suite, "--site", self.site(accelerator={"name": "Imaginary X1", "match": "Imaginary X1"}), code=7)
        self.assertIn('no backend has a device "Imaginary X1"', done.stderr)
        self.assertEqual(self.journal_rows(), [])

    def test_a_site_names_the_system_and_judges_its_ceilings(self):
        site = self.site(ceilings={"source": "a promise", "flops_per_s": {"fp32": 1e18}, "memory_bytes_per_s": 1.0})
        # Data that few sets of buffers carry past any cache, so that it runs cold on every machine, and little arithmetic.
        suite = self.suite([group(["direct"], ["mb16ic8ih64oc8oh64kh1"], backend="reference", cache=["cold"])], ceilings=True)
        done = self.run_suite(suite, "--site", site, code=4)
        self.assertRegex(done.stdout, "site mine: peak of fp32: .*below the tolerance of the site")
        self.assertRegex(done.stdout, r"site mine: memory: .* of 1.00 B/s expected")
        result = json.loads((self.out / "result.json").read_text())
        self.assertEqual((result["system"]["name"], result["run"]["site"]), ("Mine", "mine"))

    def test_every_node_of_one(self):
        # One host, so one node: the whole way, with mpirun in place of srun (test_slurm.py has two).
        suite = self.suite([group(["direct"], [SMALL], backend="reference")])
        done = self.run_suite(suite, "--per-node", "--launcher", "mpirun", code=0)
        self.assertIn("1 of 1 node has a result", done.stdout)
        self.assertRegex(done.stderr, rf"\n\[{re.escape(socket.gethostname())} 1/1\] conv/\S+  [0-9.]+ .s")
        result = self.out / socket.gethostname() / "result.json"
        self.expect_ok(json.loads(result.read_text())["rows"], 1)
        self.run_suite(suite, "--per-node", "--launcher", "mpirun", "--resume", code=0)
        shutil.rmtree(self.out)
        self.assertNotIn("1/1]", self.run_suite(suite, "--per-node", "--launcher", "mpirun", "--quiet", code=0).stderr)
        shutil.rmtree(self.out)
        self.assertIn("1/1]", self.run_suite(suite, "--per-node", "--launcher", "mpirun", "--verbose", code=0).stderr)

    def test_an_interruption_before_a_row_offers_nothing_to_continue(self):
        for words in ((), ("--per-node", "--launcher", "mpirun")):
            suite = self.suite([group(["hang"])])
            with self.subTest(words), open(self.folder / "said.txt", "w") as said:
                process = subprocess.Popen([ASSAY, "run", suite, "--out", self.out, "--timeout", "1000", *words], env=self.environment(),
                                           stdout=said, stderr=said, start_new_session=True)
                self.wait_until(lambda: any('"event":"begin"' in file.read_text() for file in self.out.glob("**/journal.jsonl")))
                process.send_signal(signal.SIGINT)
                self.assertEqual(process.wait(DEADLINE), 7)
                text = (self.folder / "said.txt").read_text()
                self.assertIn("stopped by Interrupt", text)
                self.assertIn("No row was finished", text)
                self.assertNotIn("--resume", text)
                self.assertEqual(list(self.out.glob("**/journal.jsonl")), [])
            # So the same command begins anew.
            done = self.command(ASSAY, "run", self.suite([group(["direct"])]), "--out", self.out, *words, code=0)
            self.assertNotIn("already holds", done.stderr)
            shutil.rmtree(self.out)

    def test_a_node_that_does_not_answer_is_missing(self):
        suite = self.suite([group(["direct"], [SMALL], backend="reference")])
        env = self.own(one_per_node=[str(self.start), "1"])  # one process, however many nodes are asked for
        done = self.run_suite(suite, "--per-node", "--launcher", "own", "--nodes", 2, env=env, code=7)
        self.assertIn("MISSING: node-2-of-2-did-not-answer", done.stdout)
        self.assertIn("1 of 2 nodes have a result", done.stdout)
        # It stays missing for those who read the folder later, who are told of no list.
        criteria = self.folder / "criteria.json"
        criteria.write_text(json.dumps({"schema": "assay-criteria/1", "name": "x", "nodes": "seen",
                                        "absolute": [{"rows": ".", "quantity": "time_s", "at_most": 1000}]}))
        done = self.command(ASSAY, "accept", self.out, "--criteria", criteria, code=6)
        self.assertIn("node-2-of-2-did-not-answer: the node has no result", done.stdout)
        self.command(ASSAY, "accept", self.out / socket.gethostname(), "--criteria", criteria, code=0)  # that node alone
        fleet = self.folder / "fleet.json"
        self.assertIn("did-not-answer: MISSING", self.command(ASSAY, "gather", self.out, "--out", fleet, code=6).stderr)
        self.command(ASSAY, "accept", fleet, "--criteria", criteria, code=6)
        # The run is as if it had had a name, and the next allocation were without it.
        with open(self.out / "nodes.txt", "a") as names:
            names.write("lost1\n")
        done = self.run_suite(suite, "--per-node", "--launcher", "mpirun", "--resume", code=7)
        self.assertIn("MISSING: lost1 (nothing was heard of it)", done.stdout)
        self.assertNotIn("did-not-answer", done.stdout)
        self.assertIn("lost1", (self.out / "nodes.txt").read_text())

    def test_every_node_of_a_site(self):
        suite = self.suite([group(["direct"], [SMALL], backend="reference")])
        words = ["--per-node", "--nodes", 1, "--site"]
        # The site places ranks: every node runs the single-node suite all the same.
        self.run_suite(suite, *words, self.site(processes={"ranks_per_node": 2, "threads_per_rank": 1, "bind": "core"}), code=0)
        result = json.loads((self.out / socket.gethostname() / "result.json").read_text())
        self.assertEqual(result["system"]["name"], "Mine")
        shutil.rmtree(self.out)
        done = self.run_suite(suite, *words, self.site(accelerator={"name": "Imaginary X1", "match": "Imaginary X1"}), code=7)
        self.assertRegex(done.stdout, f'MISSING: {socket.gethostname()} .*no backend has a device "Imaginary X1"')

    def test_a_node_below_its_sites_ceilings_is_named(self):
        suite = self.suite([group(["direct"], ["mb16ic8ih64oc8oh64kh1"], backend="reference")], ceilings=True)
        site = self.site(ceilings={"source": "a promise", "flops_per_s": {"fp32": 1e18}})
        done = self.run_suite(suite, "--per-node", "--site", site, code=4)
        self.assertRegex(done.stdout, f"{socket.gethostname()}: site mine: peak of fp32: .*below the tolerance of the site")

    def test_what_walltime_left_out_on_every_node_is_listed(self):
        suite = self.suite([group(["direct", "hang"])])
        done = self.run_suite(suite, "--per-node", "--launcher", "mpirun", "--walltime", "0:04", "--timeout", 1000, code=6)
        self.assertRegex(done.stdout, f"{socket.gethostname()}: left out: .*hang")

    def test_a_node_that_hangs_is_missing_after_the_walltime(self):
        """Its own run does not end at its walltime, as those of test_what_walltime_left_out_on_every_node_is_listed do."""
        suite = self.suite([group(["direct"], [SMALL], backend="reference")])
        hangs = self.folder / "hangs"
        hangs.write_text('#!/bin/sh\ncase "$*" in *placement*) exec "$@" ;; esac\nexec sleep 1000\n')
        hangs.chmod(0o755)
        done = self.run_suite(suite, "--per-node", "--launcher", "own", "--walltime", "0:02", env=self.own(one_per_node=[str(hangs)]), code=7)
        self.assertIn(f"MISSING: {socket.gethostname()} (nothing was heard of it)", done.stdout)
        self.assertRegex(done.stderr, r"has not ended within \d+ s and was killed")

    def test_walltime_on_every_node_is_what_is_left_of_it(self):
        """The nodes' clocks start after the pre-flight, which takes a second here."""
        suite = self.suite([group(["direct"], [SMALL], backend="reference")])
        slow, words = self.folder / "slow", self.folder / "words"
        slow.write_text(f'#!/bin/sh\ncase "$*" in *placement*) sleep 1 ;; *) echo "$*" >{words} ;; esac\nexec "$@"\n')
        slow.chmod(0o755)
        self.run_suite(suite, "--per-node", "--launcher", "own", "--walltime", "01:00:00", env=self.own(one_per_node=[str(slow)]), code=0)
        ((hours, minutes, seconds),) = re.findall(r"--walltime (\d+):(\d+):(\d+)", words.read_text())
        self.assertLess(3600 * int(hours) + 60 * int(minutes) + int(seconds), 3600)

    def test_a_result_of_an_earlier_run_is_not_this_ones(self):
        suite = self.suite([group(["direct"], [SMALL], backend="reference")])
        self.run_suite(suite, "--per-node", "--launcher", "mpirun", code=0)
        dies = self.folder / "dies"  # the node answers the pre-flight, and is lost before its run
        dies.write_text('#!/bin/sh\ncase "$*" in *placement*) exec "$@" ;; esac\n')
        dies.chmod(0o755)
        done = self.run_suite(suite, "--per-node", "--launcher", "own", "--resume", "--launches", 2,
                              env=self.own(one_per_node=[str(dies)]), code=7)
        self.assertIn(f"MISSING: {socket.gethostname()}", done.stdout)
        self.assertIn("0 of 1 node has a result", done.stdout)

    @unittest.skipIf(os.geteuid() != 0 or shutil.which("unshare") is None, "a UTS namespace for each node needs root")
    def test_a_pair_on_other_nodes_is_not_measured(self):
        suite = self.suite([group(["direct"], [SMALL], backend="reference")])
        command = [*self.by_name("node2,node1"), "env", "ASKED={hosts}"]
        done = self.run_suite(suite, "--pairs", "--launcher", "own", "--hosts", "node0,node1", "--bind", "none",
                              env=self.own(command=command, binding={"none": "none"}), code=7)
        self.assertIn("MISSING: node0+node1", done.stdout)
        said = (self.out / "log" / "node0+node1.err.txt").read_text()
        self.assertIn("rank 0 on node2, but the requested nodes are node0,node1", said)

    @unittest.skipIf(os.geteuid() != 0 or shutil.which("unshare") is None, "a UTS namespace for each node needs root")
    def test_walltime_is_that_of_all_pairs(self):
        suite = self.suite([group(["hang"])])
        done = self.run_suite(suite, "--pairs", "--launcher", "own", "--hosts", "node0,node1,node2", "--bind", "none", "--walltime", "0:04",
                              "--timeout", 1000, env=self.own(command=self.by_name(), binding={"none": "none"}), code=6)
        self.assertRegex(done.stdout, r"node1\+node2: left out: .*hang")
        for pair in ("node0+node2", "node0+node1"):
            self.assertIn(f"left out: {pair} (--walltime; --resume runs it)", done.stdout)

    @unittest.skipIf(os.geteuid() != 0 or shutil.which("unshare") is None, "a UTS namespace for each node needs root")
    def test_a_pair_without_a_result_of_this_run_is_missing(self):
        suite = self.suite([group(["direct"], [SMALL], backend="reference")])
        nodes = self.by_name()
        words = ["--pairs", "--launcher", "own", "--hosts", "node0,node1", "--bind", "none"]
        done = self.run_suite(suite, *words, env=self.own(command=nodes, binding={"none": "none"}), code=0)
        self.assertNotIn("MISSING", done.stdout)
        pair = self.out / "node0+node1" / "result.json"
        before = pair.read_bytes()
        # The nodes answer the pre-flight, and are lost before the run: what lies there is of an earlier one.
        dies = self.folder / "dies"
        dies.write_text('#!/bin/sh\ncase "$*" in *placement*) exec "$@" ;; esac\nexit 1\n')
        dies.chmod(0o755)
        done = self.run_suite(suite, *words, "--resume", "--launches", 2, env=self.own(command=[str(dies), *nodes], binding={"none": "none"}), code=7)
        self.assertIn("MISSING: node0+node1", done.stdout)
        self.assertEqual(pair.read_bytes(), before)

    def test_two_in_one_folder(self):
        suite = self.suite([group(["hang"])])
        process = self.start_suite(suite, "--per-node", "--launcher", "mpirun", "--timeout", 100)
        self.wait_until(lambda: (self.out / socket.gethostname() / "journal.jsonl").exists(), process)
        self.assertEqual((self.out / "nodes.txt").read_text(), f"{socket.gethostname()}\n")  # even if the job dies now
        done = self.run_suite(suite, "--per-node", "--launcher", "mpirun", code=2)
        self.assertIn("another `assay run` is running", done.stderr)

    def test_walltime_ends_the_run_and_lists_what_is_left_out(self):
        problems = [f"mb{n}ic8ih8oc8oh8kh3ph1" for n in range(1, 4)]
        suite = self.suite([group(["direct", "hang"], problems)])
        done = self.run_suite(suite, "--walltime", "0:04", "--timeout", 1000, code=6)
        result = json.loads((self.out / "result.json").read_text())
        left = result["run"]["left_out"]
        self.assertEqual(len(left) + len(result["rows"]), 6)
        self.assertTrue(any("hang" in id for id in left), left)
        for id in left:
            self.assertIn(f"left out: {id}", done.stdout)
        self.assertTrue(all(row["status"] == "ok" for row in result["rows"]))
        self.assertEqual(self.children_at_work(), [])
        self.run_suite(suite, "--resume", env=self.environment(ASSAY_FAULT_OFF="1"), code=0)
        self.expect_ok(self.rows(), 6)
        self.assertNotIn("left_out", json.loads((self.out / "result.json").read_text())["run"])

    def test_the_most_informative_cases_come_first(self):
        problems = [f"mb{n}ic8ih8oc8oh8kh3ph1" for n in range(1, 5)]
        suite = self.suite([{**group(["direct"], problems, backend="reference"), "precision": ["fp32", "bf16"]}])
        self.run_suite(suite, "--walltime", "10", code=0)
        first = self.rows()[:2]  # a quarter
        self.assertEqual({row["parameters"]["precision"] for row in first}, {"fp32", "bf16"})
        self.assertEqual(len({row["problem"]["descriptor"] for row in first}), 2)

    def test_bad_requests(self):
        suite = self.suite([group(["direct"], backend="reference")])
        for words, message in ((["--launcher", "slrum"], "Did you mean 'slurm'?"),
                               (["--launcher", "local", "--ranks", "2"], "starts one process, not 2"),
                               (["--launcher", "mpirun -n 2", "--nodes", "2"], "need a launcher's file"),
                               (["--ranks", "2", "--ranks-per-node", "2"], "both give the number of processes"),
                               (["--launcher", "pbs"], "PBS_JOBID is not set"),
                               (["--site", "summit"], "Did you mean 'summit-like'?"),
                               (["--walltime", "soon"], "--walltime soon is not a time"),
                               (["--per-node", "--launcher", "mpirun", "--nodes", "1,2"], "--nodes with several numbers cannot be used"),
                               (["--per-node"], "--per-node needs the name of a launcher"),
                               (["--pairs", "--launcher", "mpirun"], "at least two nodes (the launcher mpirun does not know the names"),
                               (["--pairs", "--launcher", "mpirun", "--hosts", "a"], "at least two nodes (--hosts names a single node)"),
                               (["--pairs", "--launcher", "local", "--hosts", "a,b"], "cannot be used with the launcher local")):
            with self.subTest(words):
                done = self.run_suite(suite, *words, code=2)
                self.assertIn(message, done.stderr)


if __name__ == "__main__":
    unittest.main()
