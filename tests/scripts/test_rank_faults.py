#!/usr/bin/env python3
"""A rank that dies, stops, or cannot take part ends the case, not the run: under `assay run`, with each MPI's launcher."""
import os
import shutil
import socket
import unittest

from run_helper import ASSAY, BIN, BUILD, PLUGINS, RunTest, main

COLLECTIVES = BIN / "assay-collectives"
LAUNCHERS = {"openmpi": "mpirun.openmpi -n 3 --oversubscribe", "mpich": "mpirun.mpich -n 3"}
TRANSPORTS = {"openmpi": "mpi", "mpich": "mpich"}
TIMEOUT = 8


def why_not(mpi):
    if shutil.which(f"mpirun.{mpi}") is None:
        return f"mpirun.{mpi} is not installed"
    if not (BUILD / "lib" / "assay" / f"libassay_{TRANSPORTS[mpi]}.so").exists():
        return f"the backend {TRANSPORTS[mpi]} is not built"
    return None


class Faults:
    """The same for each launcher."""

    def environment(self, **more):
        return super().environment(ASSAY_FAULT_INNER=TRANSPORTS[self.mpi], ASSAY_FAULT_AFTER="2", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                                   **more)

    def start(self, fault, transports=None, code=7, **more):
        suite = self.suite([{"benchmark": "collectives", "collective": ["allreduce"], "precision": ["fp32"], "problem": ["4000", "40000"],
                             "transport": transports or [TRANSPORTS[self.mpi], "faultyranks"], **more}])
        done = self.run_suite(suite, "--timeout", TIMEOUT, "--launcher", LAUNCHERS[self.mpi],
                              env=self.environment(ASSAY_FAULT=fault), code=code)
        self.assertEqual(self.children_at_work(), [], "a process was left behind")
        self.check_file()
        for row in self.rows():
            if row["parameters"]["transport"] != "faultyranks":
                self.assertEqual(row["status"], "ok", row["reason"])
                self.assertEqual(row["parameters"]["ranks"], 3)
        return done, [row for row in self.rows() if row["parameters"]["transport"] == "faultyranks"]

    def faulty(self, fault, status, *words):
        done, rows = self.start(fault)
        self.assertEqual(len(self.rows()), 4, "a row was lost")
        self.assertEqual(len(rows), 2)
        for row in rows:
            self.assertEqual(row["status"], status, row["reason"])
            self.assertIsNone(row["time_s"])
            for word in words:
                self.assertIn(word, row["reason"])
        return done

    def test_none(self):
        done, rows = self.start("", code=0)
        self.assertEqual([row["status"] for row in rows], ["ok", "ok"], done.stderr)

    def test_killed(self):
        self.faulty("kill", "failed", "in this case", *self.names_the_dead)

    def test_ended(self):
        self.faulty("exit", "failed", "in this case")

    def test_stopped(self):
        self.faulty("stop", "timeout", f"killed after {TIMEOUT} s", "rank 1 (process ", f"on {socket.gethostname()}) is stopped")

    def test_plugin_that_one_rank_cannot_load(self):
        self.faulty("load", "failed", "rank 1", socket.gethostname(), "libfabric.so.1: cannot open shared object file (injected)")

    def test_transport_that_one_rank_cannot_join(self):
        self.faulty("connect", "failed", "rank 1", socket.gethostname(), "no card in this node (injected)")

    def test_wrong_on_one_rank(self):
        _, rows = self.start("wrong", code=3)
        for row in rows:
            self.assertEqual(row["status"], "incorrect", row["reason"])
            self.assertIn(f"rank 1 on {socket.gethostname()}", row["reason"])

    def test_unequal_sizes(self):
        # MPI says what it makes of them (an error, or a wait for ever); a number is never the outcome.
        _, rows = self.start("unequal", code=None)
        self.assertEqual(len(self.rows()), 4, "a row was lost")
        for row in rows:
            self.assertIn(row["status"], ("failed", "timeout", "incorrect"), row["reason"])
            self.assertTrue(row["reason"])
            self.assertIsNone(row["time_s"])


@unittest.skipIf(why_not("openmpi"), f"unsupported: {why_not('openmpi')}")
class OpenMpi(Faults, RunTest):
    mpi = "openmpi"
    names_the_dead = ("rank 1", socket.gethostname(), "signal 9 (Killed)")

    def test_more_ranks_than_slots(self):
        suite = self.suite([{"benchmark": "collectives", "problem": ["4000"]}])
        done = self.run_suite(suite, "--launcher", "mpirun.openmpi -n 512", env=self.environment(OMPI_MCA_rmaps_base_oversubscribe="0"))
        self.assertIn(done.returncode, (2, 7), done.stderr)
        said = done.stderr  # the launcher is asked for the list of cases first: there is no result
        self.assertIn("not enough slots", said)
        self.assertIn("oversubscribe", said)


@unittest.skipIf(why_not("mpich"), f"unsupported: {why_not('mpich')}")
class Mpich(Faults, RunTest):
    mpi = "mpich"
    names_the_dead = (socket.gethostname(), "EXIT CODE: 9")

    @unittest.skipIf(why_not("openmpi"), "the other MPI is not here")
    def test_the_other_mpi_s_launcher_is_refused(self):
        # Ranks of MPICH under Open MPI's launcher would each believe to be alone.
        (self.folder / "plugins").mkdir()
        os.symlink(BUILD / "lib" / "assay" / "libassay_mpich.so", self.folder / "plugins" / "libassay_mpi.so")
        done = self.command(*LAUNCHERS["openmpi"].split(), COLLECTIVES, "--bytes", 4, "--transport", "mpich",
                            env=self.environment(ASSAY_PLUGIN_PATH=str(self.folder / "plugins")))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("launcher", done.stderr)


class Sizes(RunTest):
    """Sizes that are refused, and those that are not, on three ranks."""

    @unittest.skipIf(why_not("openmpi"), f"unsupported: {why_not('openmpi')}")
    def test_empty_and_not_divisible(self):
        launcher = LAUNCHERS["openmpi"].split()
        environment = self.environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        done = self.command(*launcher, COLLECTIVES, "--bytes", "0", "--collective", "allreduce", "--max-time", 0.02, env=environment, code=2)
        self.assertIn("0 bytes moves nothing", done.stderr)
        self.command(*launcher, COLLECTIVES, "--bytes", "28", "--collective", "allreduce", "--max-time", 0.02, env=environment, code=0)
        for words in (["--collective", "allgather", "--bytes", "28"], ["--collective", "allreduce", "--bytes", "3"]):
            with self.subTest(words):
                done = self.command(*launcher, COLLECTIVES, *words, env=environment)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(words[-1], done.stderr)

    def test_nccl_without_a_gpu_is_one_line(self):
        if not (BUILD / "lib" / "assay" / "libassay_nccl.so").exists():
            self.skipTest("unsupported: the backend nccl is not built")
        if os.path.exists("/dev/nvidiactl"):
            self.skipTest("there is a GPU")
        done = self.command(ASSAY, "list", "backends", env=self.environment(), code=0)
        lines = [line for line in done.stdout.split("\n") if "nccl" in line]
        self.assertEqual(len(lines), 1, done.stdout)
        self.assertIn("unavailable", lines[0])
        done = self.command(COLLECTIVES, "--bytes", 4, "--transport", "nccl", "--device", "gpu", env=self.environment(), code=0)
        self.assertIn("unsupported: nccl: unavailable: ", done.stdout)


if __name__ == "__main__":
    main(verbosity=2)
