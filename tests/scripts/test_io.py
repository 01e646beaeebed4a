#!/usr/bin/env python3
"""assay-io: rows that storage has proven, and what full disks, killed ranks, second jobs, memory file systems and edited rows give."""
import json
import os
import pathlib
import resource
import signal
import subprocess
import time

from run_helper import ASSAY, BIN, SOURCE, RunTest, main

IO = BIN / "assay-io"
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
RANKS = ["mpirun", "-n", "2"]
SMALL = ["--size", 2, "--count", 20, "--max-time", 0.05]
ALL = ["--operation", "write,read,metadata,random"]


class IoTest(RunTest):
    def setUp(self):
        super().setUp()
        self.files = self.folder / "files"
        self.files.mkdir()
        self.file = self.folder / "row.json"

    def words(self, *words, folder=None):
        return [IO, "--folder", folder or self.files, "--out", self.file, *words]

    def rows(self, *words, code=0, before=(), folder=None, **more):
        for file in self.folder.glob("row.json*"):
            file.unlink()
        done = self.command(*before, *self.words(*words, folder=folder), code=code, env=self.environment(**MPI), **more)
        self.said = done.stderr
        rows = json.loads(self.file.read_text())["rows"] if self.file.exists() else []
        if any("keeps no record of storage" in (row["reason"] or "") for row in rows) and folder is None:
            self.skipTest(f"TMPDIR is no storage: {rows[0]['reason']}")
        return rows

    def expect_gone(self, folder=None):
        self.assertEqual(os.listdir(folder or self.files), [])

    def reason(self, *words, code=7, status="failed", **more):
        rows = self.rows(*words, code=code, **more)
        self.assertEqual({row["status"] for row in rows}, {status}, self.said)
        self.assertEqual([row["rates"] for row in rows if row["time_s"]], [])
        return rows[0]["reason"]

    def start(self, *words, before=()):
        process = subprocess.Popen([str(word) for word in [*before, *self.words(*words)]], env=self.environment(**MPI), text=True,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return process

    def shards(self):
        return [file for file in self.files.glob("assay-io.job.*/rank*") if file.suffix != ".partial"]

    def wait_for_shards(self, process, count):
        self.wait_until(lambda: len(self.shards()) >= count or process.poll() is not None)
        self.assertIsNone(process.poll())


class Rows(IoTest):
    def test_every_operation_on_one_rank_and_on_two(self):
        for ranks, before in ((1, []), (2, RANKS)):
            with self.subTest(ranks):
                rows = self.rows(*ALL, *SMALL, before=before)
                self.expect_ok(rows, 4)
                self.assertIn("bytes_per_s", rows[0]["rates"])
                for row in rows:
                    operation = row["parameters"]["operation"]
                    self.assertEqual(row["parameters"]["ranks"], ranks)
                    self.assertIn(row["parameters"]["file_system"], row["executed"]["implementation"])
                    self.assertTrue(row["verification"]["passed"])
                    metrics = row["metrics"]
                    if operation == "metadata":
                        self.assertEqual(row["problem"]["amounts"], {"files_per_s": 20 * ranks})
                        for name in ("create", "stat", "open", "unlink"):
                            self.assertGreaterEqual(metrics[f"{name}_per_s"]["value"], row["rates"]["files_per_s"] / 10)
                            self.assertGreaterEqual(metrics[f"{name}_p99_s"]["value"], metrics[f"{name}_p50_s"]["value"])
                        continue
                    self.assertGreaterEqual(metrics["storage_ratio"]["value"], 0.99)
                    if operation == "random":
                        self.assertEqual(row["problem"]["amounts"], {"reads_per_s": 20 * ranks, "bytes_per_s": 20 * ranks * 4096})
                        self.assertGreater(metrics["read_p99_s"]["value"], 0)
                    else:
                        self.assertEqual(row["problem"]["amounts"], {"bytes_per_s": 2e6})
                self.expect_gone()
                self.command(ASSAY, "validate", self.file, code=0)

    def test_an_edited_row_is_no_result(self):
        self.rows(*ALL, *SMALL)
        good = json.loads(self.file.read_text())

        def refused(i, edit):
            result = json.loads(json.dumps(good))
            edit(result["rows"][i])
            edited = self.folder / "edited.json"
            edited.write_text(json.dumps(result))
            return self.command(ASSAY, "validate", edited, code=2).stderr

        def more_bytes(row):
            row["problem"]["bytes"] *= 2
            row["problem"]["amounts"]["bytes_per_s"] *= 2
            row["rates"]["bytes_per_s"] *= 2

        def more_files(row):
            row["problem"]["amounts"]["files_per_s"] *= 2
            row["rates"]["files_per_s"] *= 2

        def cached(row):
            row["metrics"]["storage_ratio"]["value"] = 0.5

        def unproven(row):
            del row["metrics"]["storage_ratio"]

        for i in (0, 1, 3):
            self.assertIn("no result without storage_ratio", refused(i, unproven))
            self.assertIn("bytes of all ranks", refused(i, more_bytes))
            self.assertIn("the row is one of storage", refused(i, cached))
        self.assertIn("files of all ranks", refused(2, more_files))

    def test_ranks_of_containers_have_equal_numbers(self):
        alone = ["unshare", "--pid", "--fork", "--mount-proc"]
        if subprocess.run([*alone, "true"], capture_output=True).returncode:
            self.skipTest("no namespaces of processes can be made here")
        rows = self.rows("--operation", "write,random", *SMALL, before=[*RANKS, "--mca", "btl", "tcp,self", *alone])
        self.expect_ok(rows, 2)

    def test_kept_files_are_the_only_ones(self):
        self.expect_ok(self.rows("--operation", "write", *SMALL, "--keep", "yes"), 1)
        self.assertEqual([path.name for path in self.files.glob("assay-io.kept.*/*")], ["rank0"])
        self.assertEqual(len(os.listdir(self.files)), 1)

    def test_the_suite_and_its_criteria(self):
        done = self.command(ASSAY, "run", "storage", "--launches", 1, "--max-time", 0.05, "--out", self.out, cwd=self.files,
                            env=self.environment())
        rows = json.loads((self.out / "result.json").read_text())["rows"]
        if any("keeps no record of storage" in (row["reason"] or "") for row in rows):
            self.skipTest(rows[0]["reason"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.expect_ok(rows, 6)
        self.expect_gone()
        accepted = self.command(ASSAY, "accept", self.out, "--criteria", "storage")
        self.assertIn(accepted.returncode, (0, 4), accepted.stdout + accepted.stderr)  # the disk may be slow
        self.assertNotIn("MISSING", accepted.stdout)


class Refusals(IoTest):
    def test_folders_that_cannot_be_used(self):
        for folder, why in (("/nowhere", "No such file or directory"), ("/proc/version", "is not a folder")):
            self.assertEqual(self.rows(*SMALL, folder=folder, code=2), [])
            self.assertIn(f"--folder {folder}", self.said)
            self.assertIn(why, self.said)
        self.assertIn("--folder /proc: cannot be written", self.reason(*SMALL, folder="/proc"))

    def test_memory_is_no_storage(self):
        if subprocess.run(["stat", "-f", "-c", "%T", "/dev/shm"], capture_output=True, text=True).stdout.strip() != "tmpfs":
            self.skipTest("no tmpfs in /dev/shm")
        folder = pathlib.Path("/dev/shm") / self.folder.name
        folder.mkdir()
        self.addCleanup(lambda: folder.exists() and folder.rmdir())
        for row in self.rows(*ALL, *SMALL, folder=folder, code=6):
            self.assertEqual(row["status"], "unsupported")
            self.assertIn("(tmpfs) keeps no record of storage", row["reason"])
            self.assertEqual(row["rates"], {})
        self.expect_gone(folder)

    def test_more_reads_than_blocks(self):
        self.rows("--operation", "random", "--size", 1, "--count", 245, code=2)
        self.assertIn("245 different reads of a rank do not fit the 244 places", self.said)

    def test_a_second_job_in_the_folder(self):
        process = self.start("--operation", "write", "--size", 50, "--max-time", 60, "--precision-target", 1e-12)
        self.wait_for_shards(process, 1)
        second = self.folder / "second.json"
        done = self.command(IO, "--folder", self.files, *SMALL, "--out", second, code=7)
        self.assertIn("another job measures there", done.stdout + done.stderr + json.loads(second.read_text())["rows"][0]["reason"])
        process.terminate()
        self.assertNotEqual(process.wait(timeout=60), 0)
        self.expect_gone()
        self.assertFalse(self.file.exists())


class Faults(IoTest):
    def test_a_limit_of_file_sizes(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1500000, 1500000))

        for operation in ("write", "read", "random"):
            with self.subTest(operation):
                why = self.reason("--operation", operation, *SMALL, preexec_fn=limit)
                self.assertIn("File too large, `ulimit -f` allows 1500000 bytes", why)
                self.expect_gone()

    def test_a_full_disk(self):
        disk, mount = self.folder / "disk", self.folder / "mount"
        mount.mkdir()
        with open(disk, "wb") as stream:
            stream.truncate(24 << 20)
        made = subprocess.run(["mkfs.ext4", "-q", "-O", "^has_journal", str(disk)], capture_output=True)
        if made.returncode or subprocess.run(["mount", "-o", "loop", str(disk), str(mount)], capture_output=True).returncode:
            self.skipTest("no disk can be mounted here")
        try:
            files = mount / "files"
            files.mkdir()
            self.expect_ok(self.rows(*ALL, *SMALL, folder=files), 4)
            self.expect_ok(self.rows("--operation", "read", "--size", 14, "--max-time", 0.05, folder=files), 1)  # once, not twice
            self.assertIn("the disk is too full (0.1 GB are needed", self.reason("--size", 100, folder=files))
            self.expect_gone(files)
            # It fills up later: the free space was enough when the job began.
            process = subprocess.Popen([str(word) for word in [*RANKS, *self.words(
                "--operation", "write", "--size", 6, "--max-time", 60, "--precision-target", 1e-12, folder=files)]],
                env=self.environment(**MPI), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.wait_until(lambda: list(files.glob("assay-io.job.*/rank1")) or process.poll() is not None)
            with open(mount / "other", "wb", buffering=0) as other:
                end = time.time() + 60
                while process.poll() is None and time.time() < end:
                    try:
                        other.write(bytes(1 << 16))
                    except OSError:
                        time.sleep(0.01)
            said = process.communicate(timeout=120)[0]
            self.assertEqual(process.returncode, 7, said)
            row = json.loads(self.file.read_text())["rows"][0]
            self.assertEqual(row["status"], "failed")
            self.assertIn("No space left on device", row["reason"])
            self.assertEqual(row["rates"], {})
            self.expect_gone(files)
        finally:
            subprocess.run(["umount", str(mount)], check=True)

    def test_a_signal_removes_the_files(self):
        for before in ([], RANKS):
            for operation in ("write", "read"):
                with self.subTest(f"{operation} {before}"):
                    process = self.start("--operation", operation, "--size", 50, "--max-time", 60, "--precision-target", 1e-12, before=before)
                    self.wait_for_shards(process, 1)
                    process.terminate()
                    self.assertNotEqual(process.wait(timeout=60), 0)
                    self.wait_until(lambda: not os.listdir(self.files))
                    self.assertFalse(self.file.exists(), "half of a run is no result")
                    # mpirun may kill a rank before it has removed its journal, which the next run would refuse.
                    self.file.with_name(self.file.name + ".journal.jsonl").unlink(missing_ok=True)

    def test_a_writer_that_dies(self):
        process = self.start("--operation", "write", "--size", 50, "--max-time", 60, "--precision-target", 1e-12, before=RANKS)
        self.wait_for_shards(process, 2)
        ranks = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if self.is_rank(pid)]
        self.assertEqual(len(ranks), 2)
        os.kill(ranks[1], signal.SIGKILL)
        self.assertNotEqual(process.wait(timeout=60), 0)
        self.assertFalse(self.file.exists(), "half of a run is no result")
        self.expect_ok(self.rows(*SMALL), 2)  # what it has left is removed
        self.expect_gone()

    def is_rank(self, pid):
        try:
            return os.readlink(f"/proc/{pid}/exe") == str(IO.resolve()) and str(self.files) in pathlib.Path(f"/proc/{pid}/cmdline").read_text()
        except OSError:
            return False

    def test_a_shard_that_is_changed_while_it_is_read(self):
        for change in ("cut", "flip"):
            with self.subTest(change):
                self.file.unlink(missing_ok=True)
                process = self.start("--operation", "read", "--size", 20, "--max-time", 60, "--precision-target", 1e-12, before=RANKS)
                self.wait_for_shards(process, 2)
                shard = next(self.files.glob("assay-io.job.*/rank1"))
                while process.poll() is None:  # new shards are made now and then
                    try:
                        with open(shard, "r+b") as stream:
                            if change == "cut":
                                stream.truncate(1000000)
                            else:
                                stream.seek(5000000)
                                stream.write(b"changed bytes")
                    except OSError:
                        pass
                    time.sleep(0.05)
                said = process.stderr.read()
                row = json.loads(self.file.read_text())["rows"][0]
                self.assertEqual((process.returncode, row["status"]), (3, "incorrect"), f"{said} {row['reason']}")
                self.assertIn("rank1", row["reason"])
                self.assertRegex(row["reason"], "truncated|shorter|changed" if change == "cut" else "CRC-32C|changed")
                self.assertEqual(row["rates"], {})
                self.expect_gone()


if __name__ == "__main__":
    main()
