#!/usr/bin/env python3
"""assay-input --stage: copies on each node, proofs that each file was read once, and what kills, full disks and changed bytes give."""
import fcntl
import json
import os
import pathlib
import resource
import signal
import subprocess
import unittest

from hosts_helper import Hosts, why_not
from run_helper import ASSAY, BIN, BUILD, RunTest, main

INPUT, DATASET = BIN / "assay-input", BIN / "assay-dataset"
NO_HOSTS = why_not()
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
OWN = ".assay-stage"  # how the names of Assay's own files begin


class StageTest(RunTest):
    def setUp(self):
        super().setUp()
        self.shared, self.node = self.folder / "shared", self.folder / "node"
        self.file = self.folder / "row.json"

    def make_set(self, text="images:n24c5w60h48", files=4, *words):
        done = self.command(DATASET, text, "--files", files, "-o", self.shared, *words)
        if "unsupported" in done.stderr:
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.bytes_of(self.files(self.shared))

    @staticmethod
    def files(folder):
        return sorted(path for path in folder.rglob("*") if path.is_file() and OWN not in str(path.relative_to(folder)))

    @staticmethod
    def bytes_of(files):
        return sum(file.stat().st_size for file in files)

    def words(self, *words, folder=None, problem="n16mb4s16", max_time=0.02, threads=1):
        return [INPUT, "--data", self.shared, "--classes", 5, "--problem", problem, "--threads", threads, "--max-time", max_time,
                "--stage", folder or self.node, "--out", self.file, *words]

    def row(self, *words, code=0, before=(), **more):
        for file in self.file, self.folder / "row.json.journal.jsonl":  # of a run that was killed
            file.unlink(missing_ok=True)
        settings = {name: more.pop(name) for name in ("folder", "problem", "max_time", "threads") if name in more}
        self.command(*before, *self.words(*words, **settings), code=code, **more)
        return json.loads(self.file.read_text())["rows"][0]

    def refused(self, *words, **more):
        row = self.row(*words, code=7, **more)
        self.assertEqual(row["status"], "failed")
        return row["reason"]

    def metric(self, row, name):
        return row["metrics"][f"stage_{name}"]["value"]

    def expect_copy(self, folder=None):
        folder = folder or self.node
        names = [file.relative_to(self.shared) for file in self.files(self.shared)]
        self.assertEqual([file.relative_to(folder) for file in self.files(folder)], names)
        for name in names:
            self.assertEqual((folder / name).read_bytes(), (self.shared / name).read_bytes(), name)

    def expect_staged(self, row, staged, replaced=0):
        """So many bytes were staged, and each was read once."""
        self.assertEqual(row["status"], "ok", row["reason"])
        self.assertEqual(self.metric(row, "bytes"), staged)
        self.assertEqual(self.metric(row, "replaced_files"), replaced)
        if staged:
            self.assertAlmostEqual(self.metric(row, "read_ratio"), 1, delta=0.005)
            for name in ("s", "read_bytes_per_s", "kept_bytes_per_s"):
                self.assertGreater(self.metric(row, name), 0, name)
        else:
            self.assertNotIn("stage_read_ratio", row["metrics"])

    def expect_of_first(self, rows, count, staged):
        """The first row tells the staging; the others of its process have found the set."""
        self.expect_ok(rows, count)
        for row in rows:
            self.expect_staged(row, staged if row is rows[0] else 0)
        self.assertFalse([row for row in rows[1:] if {"stage_s", "stage_cached_percent"} & set(row["metrics"])])

    @staticmethod
    def flip(file, at):
        with open(file, "r+b") as stream:
            stream.seek(at)
            byte = stream.read(1)
            stream.seek(at)
            stream.write(bytes([byte[0] ^ 1]))

    def manifest(self, folder=None):
        try:
            return json.loads(((folder or self.node) / f"{OWN}.json").read_text())["files"]
        except FileNotFoundError:
            return []

    def whole(self, folder=None):
        return [entry["name"] for entry in self.manifest(folder) if entry["state"] == "whole"]

    def ranks_at_work(self):
        """The processes of assay-input that have this test's set, in the order of their numbers."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and (entry / "exe").resolve() == INPUT.resolve() and \
                        str(self.shared).encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                pass
        return sorted(found)

    def killed(self, command, *folders, **more):
        """Kills one rank of a staging when each folder has its first files. Bytes that the folder lacks that lacks most."""
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, **more)
        self.addCleanup(lambda: process.poll() is None and (process.kill(), process.wait()))
        self.wait_until(lambda: all(self.whole(folder) for folder in folders))
        os.kill(self.ranks_at_work()[-1], signal.SIGKILL)
        process.wait(timeout=120)
        self.assertNotEqual(process.returncode, 0)
        self.wait_until(lambda: not self.ranks_at_work())
        left = [sum(entry["bytes"] for entry in self.manifest(folder) if entry["state"] != "whole") for folder in folders]
        self.assertGreater(max(left), 0, "it had ended before")
        return max(left)


class Stage(StageTest):
    def test_a_set_is_staged_once(self):
        size = self.make_set()
        listed = self.command(INPUT, "--data", self.shared, "--classes", 5, "--problem", "n16mb4s16", "--threads", 1, "--stage", self.node, "--list",
                              code=0).stdout.split()[0]
        self.assertFalse(self.node.exists(), "a list has staged the set")
        row = self.row()
        self.expect_staged(row, size)
        self.expect_copy()
        self.assertEqual(row["id"], listed)
        self.assertIn("/staged=yes", row["id"])
        self.assertEqual((row["parameters"]["stage"], row["parameters"]["staged"]), (str(self.node), "yes"))
        self.assertEqual(self.metric(row, "set_bytes"), size)
        self.assertGreaterEqual(self.metric(row, "cached_percent"), 0)
        self.expect_staged(self.row(), 0)
        self.expect_staged(self.row("--page-cache", "cold"), 0)
        self.expect_staged(self.row("--reader", "bare_loop"), 0)
        self.expect_staged(self.row("--view", "evaluate"), 0)
        # Cases of one process, each of which opens the set in its own way.
        self.command(*self.words("--prefetch", "0,1", folder=self.folder / "other"), "--view", "train,evaluate", code=0)
        self.expect_of_first(json.loads(self.file.read_text())["rows"], 4, size)

    def test_rows_tell_the_staging_that_was_theirs(self):
        size = self.make_set()
        for caches in ("cached", "cold"), ("cold", "cached"):
            node = self.folder / caches[0]
            self.command(*self.words("--page-cache", ",".join(caches), folder=node), code=0)
            rows = json.loads(self.file.read_text())["rows"]
            self.assertEqual([row["parameters"]["page_cache"] for row in rows], list(caches))
            self.expect_of_first(rows, 2, size)
            if caches[0] == "cold":
                self.assertEqual(self.metric(rows[0], "cached_percent"), 0)
            else:
                self.assertGreater(self.metric(rows[0], "cached_percent"), 0)

    def test_names_of_folders(self):
        size = self.make_set("images:n30c5w40h30", 1, "--as", "folder")
        records = self.folder / "records"
        self.command(DATASET, "images:n24c5w60h48", "--files", 2, "-o", records, code=0)
        folders = self.folder
        for number, (data, stage) in enumerate(((".", f"{self.node}/"), ("./", "../node1"), (f"{self.shared}//", "..//./node2"))):
            with self.subTest(data):
                done = self.words("--data", data, folder=stage)
                del done[1:3]
                self.command(*done, code=0, cwd=self.shared)
                self.expect_staged(json.loads(self.file.read_text())["rows"][0], size)
                self.expect_copy(folders / f"node{number or ''}")
        self.shared = records
        prefix = self.files(records)[0].name[:4]
        for number, data in enumerate((".", f"./{prefix}", prefix)):
            with self.subTest(data):
                done = self.words("--data", data, folder=f"../of{number}")
                del done[1:3]
                self.command(*done, code=0, cwd=records)
                self.expect_copy(folders / f"of{number}")

    def test_a_folder_in_the_set_is_refused(self):
        self.make_set("images:n30c5w40h30", 1, "--as", "folder")
        before = sorted(self.shared.rglob("*"))
        (self.folder / "link").symlink_to(self.shared)
        for folder in self.shared / "staged", self.folder / "link" / "class_0000" / "{node}":
            self.assertIn("lies in the folder of the set itself. Name", self.refused(folder=folder))
        self.assertEqual(sorted(self.shared.rglob("*")), before)

    def test_a_folder_of_classes_and_a_prefix(self):
        size = self.make_set("images:n30c5w40h30", 1, "--as", "folder")
        self.expect_staged(self.row(), size)
        self.expect_copy()
        other = self.folder / "other"
        self.command(DATASET, "images:n24c5w60h48", "--files", 2, "-o", other, code=0)
        for number, file in enumerate(self.files(other)):
            file.rename(other / f"train-{number}")  # names that a folder's would not be found by
        self.shared = other / "train-"
        self.expect_staged(self.row(folder=self.folder / "node{node}"), self.bytes_of(self.files(other)))
        self.assertEqual([file.name for file in self.files(self.folder / "node0")], ["train-0", "train-1"])

    def test_changed_files_are_staged_again(self):
        self.make_set()
        self.row()
        first, second, third, last = self.files(self.node)
        self.flip(first, 300)
        second.unlink()
        os.truncate(third, 100)
        again = self.bytes_of(self.files(self.shared)[:3])
        self.expect_staged(self.row(), again, replaced=3)
        self.expect_copy()
        shared = self.files(self.shared)[3]
        self.flip(shared, shared.stat().st_size - 1)  # of a record's checksum
        row = self.row("--max-bad-samples", 1)
        self.expect_staged(row, shared.stat().st_size, replaced=1)
        self.expect_copy()

    def test_a_byte_that_changes_while_it_is_timed_is_found(self):
        self.make_set("images:n24c5w60h48", 1, "--as", "folder")
        process = subprocess.Popen([str(word) for word in self.words("--threads", 1, max_time=3)[:-2]], env=self.environment(),
                                   text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(lambda: process.poll() is None and (process.kill(), process.wait()))
        self.wait_until(lambda: len(self.whole()) == 24)
        self.flip(self.files(self.node)[7], 15)  # the density of its pixels, which no decoder uses
        printed, _ = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 3, printed)
        self.assertIn("is not what was staged", printed)

    def test_a_killed_staging_is_resumed(self):
        size = self.make_set("images:n2400c5w120h90", 2400)
        left = self.killed(self.words(), self.node, env=self.environment())
        self.assertLess(left, size)
        self.assertGreater(left, 0)
        self.expect_staged(self.row(), left)
        self.expect_copy()

    def test_a_full_disk_is_told_and_resumed(self):
        self.make_set("images:n60c5w300h200", 6)
        self.node.mkdir()
        tried = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", self.node], capture_output=True, text=True)
        if tried.returncode:
            self.skipTest(f"unsupported: {tried.stderr}")
        self.addCleanup(subprocess.run, ["umount", self.node], check=True)
        row = self.row(code=7)
        self.assertEqual(row["status"], "failed")
        self.assertRegex(row["reason"], rf"--stage: {self.node}/\S+ cannot be written \(No space left on device\). Free space")
        kept = self.whole()
        self.assertTrue(0 < len(kept) < 6, kept)
        for name in kept:
            self.assertEqual((self.node / name).read_bytes(), (self.shared / name).read_bytes())
        self.assertEqual([file.name for file in self.files(self.node)], kept, "something half is there")
        subprocess.run(["mount", "-o", "remount,size=64m", self.node], check=True)
        self.expect_staged(self.row(), self.bytes_of(file for file in self.files(self.shared) if file.name not in kept))
        self.expect_copy()

    def test_a_limit_of_files_sizes(self):
        self.make_set("images:n60c5w300h200", 2)
        large = max(self.files(self.shared), key=lambda file: file.stat().st_size)
        limit = large.stat().st_size - 1
        row = self.row(code=7, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        self.assertIn(f"{large.name} cannot be written (File too large, `ulimit -f` allows {limit} bytes)", row["reason"])
        self.assertNotIn(large.name, [file.name for file in self.files(self.node)])

    def test_what_cannot_be_is_refused(self):
        self.make_set()
        (self.folder / "file").write_text("x")
        self.assertIn("cannot be written", self.refused(folder=self.folder / "file" / "node"))
        self.assertIn("is the folder of the set itself", self.refused(folder=self.shared))
        self.node.mkdir()
        with open(self.node / f"{OWN}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.assertIn("another job has this folder (its lock is held). Wait", self.refused())
        self.row()
        # A file that would belong to the set there, and another set.
        stray = self.node / "more.tfrecord"
        stray.write_bytes(self.files(self.node)[0].read_bytes())
        self.assertIn("has other files than the set", self.refused())
        stray.unlink()
        moved = self.files(self.shared)[3]
        moved.rename(self.folder / moved.name)
        for file in self.files(self.shared):
            file.rename(self.shared / f"part{file.name[4:9]}.tfrecord")
        self.assertIn("of another set. Remove the folder", self.refused())
        done = self.command(INPUT, "--problem", "n16mb4s16", "--stage", self.node, code=2)
        self.assertIn("no use here", done.stderr)

    def test_a_suite(self):
        size = self.make_set()
        suite = self.suite([{"benchmark": "input", "data": [str(self.shared)], "classes": [5], "problem": ["n16mb4s16"], "threads": [1],
                             "prefetch": [0, 2], "stage": [str(self.node)]}])
        self.run_suite(suite, "--launches", 1, code=0)
        self.expect_of_first(self.rows(), 2, size)
        self.command(ASSAY, "validate", self.out / "result.json", code=0)

    def test_only_cases_that_run_are_staged(self):
        size, first = self.make_set(), self.shared
        self.shared = self.folder / "other"
        self.make_set("images:n16c3w50h40", 2)
        foreign = self.folder / "foreign"
        foreign.mkdir()
        (foreign / "file").write_text("mine")
        group = {"benchmark": "input", "problem": ["n16mb4s16"], "threads": [1]}
        suite = self.suite([{**group, "data": [str(self.shared)], "classes": [3], "stage": [str(foreign)]},
                            {**group, "data": [str(first)], "classes": [5], "stage": [str(self.node)]}])
        self.run_suite(suite, "--launches", 1, "--filter", "tfrecord:n24", code=0)
        row, = self.rows()
        self.expect_staged(row, size)
        self.command(INPUT, "--suite", suite, "--benchmark_filter", "tfrecord:n24", "--out", self.file, code=0)
        row, = json.loads(self.file.read_text())["rows"]
        self.expect_staged(row, 0)
        self.assertEqual(list(foreign.iterdir()), [foreign / "file"])
        # Without a filter, the folder of one case is that of one row.
        self.command(INPUT, "--suite", suite, "--out", self.file, code=7)
        refused, right = json.loads(self.file.read_text())["rows"]
        self.assertIn("has file, which no staging has put there", refused["reason"])
        self.expect_staged(right, 0)

    def test_one_folder_for_two_sets(self):
        size, first = self.make_set(), self.shared
        self.shared = self.folder / "other"
        self.make_set("images:n16c5w50h40", 2)
        self.command(INPUT, "--data", f"{first},{self.shared}", "--classes", 5, "--problem", "n16mb4s16", "--threads", 1, "--max-time", 0.02,
                     "--stage", self.node, "--out", self.file, code=7)
        right, refused = json.loads(self.file.read_text())["rows"]
        self.expect_staged(right, size)
        self.assertIn(f"--stage {self.node}: this run has staged {first} there. Name another folder for {self.shared}.", refused["reason"])


@unittest.skipIf(NO_HOSTS, f"unsupported: {NO_HOSTS}")
class StageOnHosts(StageTest):
    """Two hosts of one machine: {node} gives each a folder of its own."""

    def setUp(self):
        super().setUp()
        self.hosts = self.enterContext(Hosts(self.folder))
        self.variables = {**os.environ, "ASSAY_PLUGIN_PATH": str(BUILD / "lib" / "assay"), "OMP_NUM_THREADS": "1", **MPI}
        self.launcher = self.hosts.on_first(*self.hosts.mpirun(2), "-x", "ASSAY_PLUGIN_PATH", "-x", "OMP_NUM_THREADS")

    def hosts_row(self, *words, **more):
        return self.row(*words, before=self.launcher, env=self.variables, folder=self.folder / "node{node}", **more)

    def test_each_file_is_read_by_one_host(self):
        size = self.make_set()
        row = self.hosts_row()
        self.assertEqual((row["parameters"]["ranks"], row["parameters"]["nodes"]), (2, 2))
        self.expect_staged(row, size)
        self.assertGreater(self.metric(row, "passed_bytes_per_s"), 0)
        for host in range(2):
            self.expect_copy(self.folder / f"node{host}")
        self.flip(self.files(self.folder / "node1")[1], 200)
        self.expect_staged(self.hosts_row(), self.files(self.shared)[1].stat().st_size, replaced=1)
        self.expect_copy(self.folder / "node1")

    def test_hosts_do_not_share_a_folder(self):
        self.make_set()
        self.assertIn("nodes 0 and 1 share this folder. Name one on a disk of each node",
                      self.refused(before=self.launcher, env=self.variables))

    def test_a_killed_rank_is_resumed(self):
        size = self.make_set("images:n2400c5w120h90", 2400)
        nodes = [self.folder / f"node{host}" for host in range(2)]
        left = self.killed([*self.launcher, *self.words(folder=self.folder / "node{node}")], *nodes, env=self.variables)
        row = self.hosts_row()
        self.assertEqual(row["status"], "ok", row["reason"])
        self.assertTrue(left <= self.metric(row, "bytes") < size)
        self.assertAlmostEqual(self.metric(row, "read_ratio"), 1, delta=0.005)
        for node in nodes:
            self.expect_copy(node)


if __name__ == "__main__":
    main(verbosity=2)
