#!/usr/bin/env python3
"""`assay collect` and `assay run --per-node --local-results`: three nodes that share no folder, as namespaces of this machine: each
rank has a host name and a disk of its own. Lost ranks, full disks, names that are no folders, runs that are not continued."""
import json
import os
import shutil
import subprocess
import unittest

from run_helper import ASSAY, BUILD, SMALL, RunTest, group, main

NODES = ("node0", "node1", "node2")
CHUNK = 4 << 20  # bytes of a message
MPI = [name for name in ("mpi", "mpich") if (BUILD / "lib" / "assay" / f"libassay_{name}.so").exists()]

# The commands of a rank's shell before the command: it takes the name and the disk of its node.
ON_NODE = 'hostname "node$OMPI_COMM_WORLD_RANK" && mount --bind "$DISKS/node$OMPI_COMM_WORLD_RANK" "$LOCAL" && exec "$@"'
NAMED = 'import os, socket, sys; socket.sethostname(sys.argv[1]); os.execv(sys.argv[2], sys.argv[2:])'
# The command of the first of these ranks is killed in the middle of its largest file.
KILLED = ('if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then "$@" & '
          'while [ ! -s "$OUT/.collecting/new/node1/big" ]; do sleep 0.01; done; kill -9 $!; wait $!; else exec "$@"; fi')


def can_mount():
    return os.geteuid() == 0 and shutil.which("unshare") and \
        subprocess.run(["unshare", "--uts", "--mount", "true"], stderr=subprocess.DEVNULL).returncode == 0


@unittest.skipUnless(MPI and shutil.which("mpirun"), "unsupported: no MPI was built, or there is no mpirun")
@unittest.skipUnless(can_mount(), "unsupported: nodes as namespaces need root's rights")
class Collect(RunTest):
    def setUp(self):
        super().setUp()
        self.local, self.disks = self.folder / "local", self.folder / "disks"
        for folder in (self.local, self.out, *(self.disks / node for node in NODES)):
            folder.mkdir(parents=True)

    def variables(self, **more):
        return self.environment(DISKS=str(self.disks), LOCAL=str(self.local), OUT=str(self.out), OMPI_ALLOW_RUN_AS_ROOT="1",
                                OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", **more)

    def mpirun(self, *words, ranks=3, env=None, code=None):
        return self.command("mpirun", "-n", ranks, "--oversubscribe", "--bind-to", "none", *words, env=env or self.variables(), code=code)

    def collect(self, *words, before=(), env=None, code=None):
        shell = ["unshare", "--uts", "--mount", "sh", "-c", ON_NODE, "node"]
        return self.mpirun(*shell, *before, ASSAY, "collect", self.local, "--out", self.out, *words, env=env, code=code)

    def put(self, node, name, content, folder=None):
        file = self.disks / node / (folder or node) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        return file

    def runs(self, nodes=NODES):
        """A run of each node, on its own disk."""
        for node in nodes:
            self.put(node, "journal.jsonl", f"run of {node}\n".encode())
            self.put(node, "result.json", json.dumps({"of": node}).encode())
            self.put(node, "log/a.err.txt", b"")

    def expect_whole(self, nodes):
        for node in NODES:
            there = self.out / node
            self.assertEqual(there.exists(), node in nodes, node)
            for file in (self.disks / node).rglob("*") if node in nodes else ():
                if file.is_file() and file.name not in (".lock", ".held-by"):
                    copy = there / file.relative_to(self.disks / node / node)
                    self.assertEqual(copy.read_bytes(), file.read_bytes(), copy)
                    self.assertEqual(copy.stat().st_mtime_ns, file.stat().st_mtime_ns, copy)

    def test_three_nodes_that_share_no_folder(self):
        self.runs()
        self.put("node1", "big", os.urandom(2 * CHUNK + 12345))  # the messages of a file, the last one short
        self.put("node2", "exact", os.urandom(CHUNK))
        for name in (".lock", ".held-by"):
            self.put("node2", name, b"")
        done = self.collect(code=0)
        self.assertIn("collected 3 of 3 nodes", done.stderr)
        self.expect_whole(NODES)
        for name in (".lock", ".held-by"):
            self.assertFalse((self.out / "node2" / name).exists(), "a lock is its node's alone")
        self.assertFalse((self.out / ".collecting").exists())
        self.assertEqual(list(self.local.iterdir()), [], "this machine's own folder was used")

    def test_a_node_without_a_run_is_missing(self):
        self.runs(("node0", "node2"))
        done = self.collect(code=7)
        self.assertIn(f"MISSING: node1 (no run has written results here: the folder {self.local}/node1 does not exist)", done.stderr)
        self.assertIn("collected 2 of 3 nodes", done.stderr)
        self.expect_whole(("node0", "node2"))

    def test_no_folder_to_write_into(self):
        self.runs()
        self.out.rmdir()
        done = self.collect(code=2)
        self.assertIn(f"the folder {self.out} does not exist on node0", done.stderr)
        self.assertEqual(done.stderr.count("does not exist on"), 1, "one process tells it")

    def test_hosts_of_one_name(self):
        self.put(NODES[0], "journal.jsonl", b"x\n")
        done = self.mpirun(ASSAY, "collect", self.disks / "node0", "--out", self.out, code=2)
        self.assertIn("ranks 0, 1, 2 are on one host", done.stderr)
        self.assertEqual(self.visible_in(self.out), [])

    def test_hosts_whose_names_are_no_folders(self):
        for name in ("../outside", "..", ".hidden", "-rf", "a b"):
            with self.subTest(name):
                done = self.mpirun("unshare", "--uts", "python3", "-c", NAMED, name, ASSAY, "collect", self.local, "--out", self.out,
                                   ranks=1, code=2)
                self.assertIn(f"rank 0 is on a host named '{name}'", done.stderr)
        self.assertEqual(self.visible_in(self.out), [])
        self.assertFalse((self.folder / "outside").exists())

    @staticmethod
    def visible_in(folder):
        return sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith("."))

    def test_a_rank_that_is_killed(self):
        self.runs()
        with open(self.put("node1", "big", b""), "wb") as big:
            big.truncate(400 << 20)  # long enough to be met in its middle
        done = self.collect(before=("sh", "-c", KILLED, "rank"))
        self.assertNotEqual(done.returncode, 0)
        self.expect_whole(("node0",))
        self.put("node1", "big", b"small now")
        self.collect(code=0)
        self.expect_whole(NODES)
        self.assertFalse((self.out / ".collecting").exists(), "what the killed one had left")

    def test_a_full_disk(self):
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6M", "tmpfs", str(self.out)], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("mounting a small file system needs root's rights")
        self.addCleanup(subprocess.run, ["umount", str(self.out)], check=False)
        self.runs()
        self.put("node1", "big", os.urandom(2 * CHUNK))
        done = self.collect(code=7)
        self.assertRegex(done.stderr, r"big: cannot be written \(No space left on device\)\. Free space")
        self.assertIn("not collected: 1 node after it", done.stderr)
        self.expect_whole(("node0",))
        self.assertEqual(self.visible_in(self.out), ["node0"])
        self.assertFalse((self.out / ".collecting").exists(), "nothing half-written is left")
        subprocess.run(["mount", "-o", "remount,size=64M", str(self.out)], check=True)
        self.collect(code=0)
        self.expect_whole(NODES)

    def test_only_a_continued_run_is_replaced(self):
        self.runs()
        self.collect(code=0)
        for node in NODES:
            self.put(node, "journal.jsonl", f"run of {node}\nmore\n".encode())
            self.put(node, "result.json", b"{}")
        self.put("node1", "journal.jsonl", b"another run\nmore\n")
        before = (self.out / "node1" / "result.json").read_bytes()
        done = self.collect(code=7)
        self.assertRegex(done.stderr, "not collected: node1 .*does not continue it")
        self.assertEqual((self.out / "node1" / "result.json").read_bytes(), before)
        for node in ("node0", "node2"):
            self.assertEqual((self.out / node / "result.json").read_bytes(), b"{}")

    def test_a_folder_that_is_no_run_stays(self):
        self.runs()
        (self.out / "node2").mkdir()
        (self.out / "node2" / "mine.txt").write_text("precious")
        done = self.collect(code=7)
        self.assertRegex(done.stderr, "not collected: node2 .*holds no run")
        self.assertEqual((self.out / "node2" / "mine.txt").read_text(), "precious")
        self.assertTrue((self.out / "node1" / "result.json").exists())

    def test_without_mpi(self):
        hidden = self.folder / "plugins"
        hidden.mkdir()
        for name in ("mpi", "mpich"):
            (hidden / f"libassay_{name}.so").write_text("no library")
        self.runs()
        done = self.collect(env=self.variables(ASSAY_PLUGIN_PATH=str(hidden)), code=7)
        self.assertRegex(done.stderr, r"assay collect: unsupported: rank \d on node\d cannot join the 3 processes")
        self.assertEqual(self.visible_in(self.out), [])

    def test_one_node_needs_no_launcher(self):
        host = os.uname().nodename
        self.put("node0", "journal.jsonl", b"x\n", folder=host)
        self.command(ASSAY, "collect", self.disks / "node0", "--out", self.out, code=0)
        self.assertEqual((self.out / host / "journal.jsonl").read_bytes(), b"x\n")

    # The whole way.

    def launcher(self, **more):
        """A launcher whose processes are on nodes of their own."""
        start = ["--oversubscribe", "--bind-to", "none", "unshare", "--uts", "--mount", "sh", "-c", ON_NODE, "node"]
        launcher = {"schema": "assay-launcher/1", "name": "own", "description": "ours", "command": ["mpirun", "-n", "{ranks}", *start],
                    "one_per_node": ["mpirun", "-n", "{nodes}", *start], **more}
        file = self.folder / "own.json"
        file.write_text(json.dumps(launcher))
        return file

    def per_node(self, *words, launcher=None, code=None, env=None):
        suite = self.suite([group(["direct"], [SMALL], backend="reference")])
        return self.run_suite(suite, "--per-node", "--local-results", self.local, "--launcher", launcher or self.launcher(), "--nodes", 3, *words,
                              env=env or self.variables(), code=code)

    def test_a_run_on_every_node(self):
        done = self.per_node(code=0)
        self.assertIn("3 of 3 nodes have a result", done.stdout)
        self.assertIn("collected 3 of 3 nodes", done.stderr)
        self.assertEqual(list(self.local.iterdir()), [])
        fleet = self.folder / "fleet.json"
        self.command(ASSAY, "gather", self.out, "--node-file", self.out / "nodes.txt", "--out", fleet, code=0)
        result = json.loads(fleet.read_text())
        self.assertEqual([environment["host"] for environment in result["environments"]], list(NODES))
        # Resumed with more launches, the nodes' runs continue, and take the place of what was collected.
        self.per_node("--resume", "--launches", 2, code=0)
        for node in NODES:
            self.expect_ok(json.loads((self.out / node / "result.json").read_text())["rows"], 2)
        # A disk that was emptied meanwhile: known before anything is timed.
        shutil.rmtree(self.disks / "node1" / "node1")
        done = self.per_node("--resume", "--launches", 3, code=7)
        self.assertRegex(done.stderr, "(?s)pre-flight failed: .*not collected: node1 .*Nothing was timed")
        self.assertEqual(len(json.loads((self.out / "node0" / "result.json").read_text())["rows"]), 2)

    def test_a_local_folder_that_holds_another_run(self):
        """Its result is not this run's, and it stays."""
        self.per_node(code=0)
        first, self.out = self.out, self.folder / "second"
        before = {file: file.read_bytes() for file in self.disks.rglob("*") if file.is_file() and file.name[0] != "."}
        done = self.per_node(code=7)
        self.assertRegex(done.stderr, "(?s)pre-flight failed: .*node1.* holds a run.*--resume.*Nothing was timed")
        self.assertEqual({file: file.read_bytes() for file in before}, before)
        # Another suite, which cannot resume it: what is there is the other suite's.
        self.suite([group(["direct"], [SMALL], backend="reference")], scale="1/2")
        other = self.suite([group(["direct"], [SMALL.replace("ph1", "ph0")], backend="reference")], name="other")
        done = self.run_suite(other, "--per-node", "--local-results", self.local, "--launcher", self.launcher(), "--nodes", 3, "--resume",
                              env=self.variables(), code=7)
        for node in NODES:
            self.assertRegex(done.stdout, f"MISSING: {node} .*cannot resume")
        self.assertTrue((first / "node1" / "result.json").exists())

    def test_a_node_whose_run_does_not_begin(self):
        fails = self.folder / "fails"  # on node1 the process of the run dies at once
        fails.write_text('#!/bin/sh\ncase "$(hostname) $*" in "node1 "*--as-node*) exit 0 ;; esac\nexec "$@"\n')
        fails.chmod(0o755)
        usual = json.loads(self.launcher().read_text())
        launcher = self.launcher(one_per_node=[*usual["one_per_node"], str(fails)])
        done = self.per_node(launcher=launcher, code=7)
        self.assertIn("MISSING: node1", done.stdout)
        self.assertIn("2 of 3 nodes have a result", done.stdout)
        # A result of an earlier run that node1 has not written anew is not this run's.
        self.per_node("--resume", launcher=self.launcher(), code=0)
        done = self.per_node("--resume", "--launches", 2, launcher=self.launcher(one_per_node=[*usual["one_per_node"], str(fails)]), code=7)
        self.assertIn("MISSING: node1", done.stdout)

    def test_what_cannot_be_collected_is_known_before_the_run(self):
        hidden = self.folder / "plugins"
        hidden.mkdir()
        for name in ("mpi", "mpich"):
            (hidden / f"libassay_{name}.so").write_text("no library")
        done = self.per_node(env=self.variables(ASSAY_PLUGIN_PATH=str(hidden)), code=7)
        self.assertRegex(done.stderr, "(?s)pre-flight failed: .*unsupported: .*Nothing was timed")
        for node in NODES:
            self.assertFalse((self.disks / node / node).exists())

    def test_bad_requests(self):
        suite = self.suite([group(["direct"], [SMALL], backend="reference")])
        done = self.run_suite(suite, "--local-results", self.local, code=2)
        self.assertIn("--local-results needs --per-node", done.stderr)

    def test_a_batch_script_carries_it(self):
        suite = self.suite([group(["direct"], [SMALL], backend="reference")])
        self.command(ASSAY, "job", suite, "--launcher", "slurm", "--nodes", 4, "--time", 30, "--out", self.out,
                     "--run", "--per-node --local-results /tmp/assay", code=0)
        last = (self.out / "job.sh").read_text().splitlines()[-1]
        self.assertRegex(last, r"--launcher slurm --nodes 4 --per-node --local-results /tmp/assay --walltime 00:27:00 --out \S+ --resume$")


if __name__ == "__main__":
    main(verbosity=2)
