#!/usr/bin/env python3
"""A rank that dies, stops, or cannot take part ends the case, not the run: under `assay run`, with each MPI's launcher."""
import os
import shutil
import socket
import unittest

from run_helper import ASSAY, BIN, BUILD, PLUGINS, RunTest, main

COLLECTIVES = BIN / "assay-collectives"
LAUNCHERS = {"openmpi": "mpirun.openmpi --oversubscribe -n", "mpich": "mpirun.mpich -n"}
# MPICH's ranks never give a processor away: three on two processors wait a time slice for each message.
RANKS = {"openmpi": 3, "mpich": 2}
TRANSPORTS = {"openmpi": "mpi", "mpich": "mpich"}
PROBLEMS = ["4000", "40000"]
TIMEOUT = 4


def why_not(mpi):
    if shutil.which(f"mpirun.{mpi}") is None:
        return f"mpirun.{mpi} is not installed"
    if not (BUILD / "lib" / "assay" / f"libassay_{TRANSPORTS[mpi]}.so").exists():
        return f"the backend {TRANSPORTS[mpi]} is not built"
    return None


class Faults:
    """The same for each launcher."""
    names_the_stopped = ("killed after ", "rank 1 (process ", f"on {socket.gethostname()}) is stopped")

    def environment(self, **more):
        return super().environment(**{"ASSAY_FAULT_INNER": TRANSPORTS[self.mpi], "ASSAY_FAULT_AFTER": "2", "OMPI_ALLOW_RUN_AS_ROOT": "1",
                                      "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **more})

    def start(self, fault, transports=None, code=7, timing=None, timeout=TIMEOUT, variables=None, **more):
        ranks = RANKS[self.mpi]
        suite = self.suite([{"benchmark": "collectives", "collective": ["allreduce"], "precision": ["fp32"], "problem": PROBLEMS,
                             "transport": transports or [TRANSPORTS[self.mpi], "faultyranks"], **more}],
                           **({"timing": timing} if timing else {}))
        done = self.run_suite(suite, "--timeout", timeout, "--launcher", f"{LAUNCHERS[self.mpi]} {ranks}",
                              env=self.environment(ASSAY_FAULT=fault, **(variables or {})), code=code)
        self.assertEqual(self.children_at_work(), [], "a process was left behind")
        started = {int(process) for event in self.journal() for process in event.get("rank_processes", [])}
        self.assertTrue(started or code == 0)
        self.assertEqual([name for name in os.listdir("/dev/shm")
                          if name.startswith("assay-") and int(name.split("-")[1]) in started], [], "shared memory was left behind")
        self.check_file()
        for row in self.rows():
            if row["parameters"]["transport"] != "faultyranks":
                self.assertEqual(row["status"], "ok", row["reason"])
                self.assertEqual(row["parameters"]["ranks"], ranks)
        return done, [row for row in self.rows() if row["parameters"]["transport"] == "faultyranks"]

    def faulty(self, fault, status, *words, **more):
        done, rows = self.start(fault, **more)
        self.assertEqual(len(self.rows()), 2 * len(rows), "a row was lost")
        self.assertEqual(len(rows), len(more.get("problem", PROBLEMS)) * len(more.get("algorithm", "1")))
        for row in rows:
            self.assertEqual(row["status"], status, row["reason"])
            self.assertIsNone(row["time_s"])
            for word in words:
                self.assertIn(word, row["reason"])
        return done

    def names_the_silent(self):
        """The row names the ranks that said nothing of their end, beside the launcher's words."""
        processes = {event["attempt"]: event["rank_processes"] for event in self.journal() if event["event"] == "launch"}
        failed = [row for row in self.rows() if row["status"] == "failed"]
        self.assertTrue(failed)
        for row in failed:
            self.assertRegex(row["reason"], " in this case: " + self.silent.format(process=processes[row["attempt"]][1]) + " did not report")

    def within_messages(self, fault, status, *words, after=6):
        """The fault is in the midst of an algorithm of ours: in a message of its first call."""
        self.faulty(fault, status, *words, algorithm=["ring", "halving_doubling"], problem=["40000"], variables={"ASSAY_FAULT_AFTER": str(after)})

    def within_shared_memory(self, fault, status, *words):
        """The algorithm makes no calls that could be struck: some time in a second of it."""
        self.faulty(fault, status, *words, algorithm=["shared_memory"], problem=["4000000"],
                    timing={"max_time": 2, "precision_target": 1e-9}, timeout=9, variables={"ASSAY_FAULT_LATER": "1000"})

    def test_none(self):
        done, rows = self.start("", code=0)
        self.assertEqual([row["status"] for row in rows], ["ok", "ok"], done.stderr)

    def test_killed(self):
        self.faulty("kill", "failed", *self.names_the_dead)
        self.names_the_silent()

    def test_ended(self):
        self.faulty("exit", "failed")
        self.names_the_silent()

    def test_stopped(self):
        self.faulty("stop", "timeout", *self.names_the_stopped)

    def test_plugin_that_one_rank_cannot_load(self):
        self.faulty("load", "failed", "rank 1", socket.gethostname(), "libfabric.so.1: cannot open shared object file (injected)")

    def test_transport_that_one_rank_cannot_join(self):
        self.faulty("connect", "failed", "rank 1", socket.gethostname(), "no card in this node (injected)")

    def test_wrong_on_one_rank(self):
        _, rows = self.start("wrong", code=3)
        for row in rows:
            self.assertEqual(row["status"], "incorrect", row["reason"])
            self.assertIn(f"rank 1 on {socket.gethostname()}", row["reason"])

    def test_killed_within(self):
        self.within_messages("kill", "failed", *self.names_the_dead)
        self.names_the_silent()

    def test_killed_within_shared_memory(self):
        self.within_shared_memory("kill", "failed", *self.names_the_dead)
        self.names_the_silent()

    def test_stopped_within(self):
        self.within_messages("stop", "timeout", *self.names_the_stopped)

    def test_stopped_within_shared_memory(self):
        self.within_shared_memory("stop", "timeout", *self.names_the_stopped)

    def test_unequal_within(self):
        # Whoever finds it says so; the others wait for what it will not send any more, if they need it.
        for after, status in self.unequal_within:
            with self.subTest(after):
                killed = [f"killed after {TIMEOUT} s"] if status == "timeout" else []
                self.within_messages("unequal", status, f" on {socket.gethostname()}: ", *killed, after=after)
                for row in self.rows():
                    if row["status"] != "ok":
                        self.assertRegex(row["reason"], r"rank [012] on \S+: (MPI_(Test|Wait): .*[Tt]runcated|received \d+ elements where \d+ were expected)")
            shutil.rmtree(self.out)

    def test_unequal_sizes(self):
        status, words, code = self.unequal
        _, rows = self.start("unequal", code=code)
        self.assertEqual(len(self.rows()), 4, "a row was lost")
        for row in rows:
            self.assertEqual(row["status"], status, row["reason"])
            self.assertRegex(row["reason"], f"rank [012] on {socket.gethostname()}: {words}")
            self.assertIsNone(row["time_s"])

    def test_other_words_on_one_rank(self):
        case = [COLLECTIVES, "--transport", TRANSPORTS[self.mpi], "--max-time", "0.02", "--bytes"]
        done = self.command(*LAUNCHERS[self.mpi].split()[:-1], "-n", 2, *case, 4000, ":", "-n", 1, *case, 8000,
                            env=self.environment(), code=2)
        self.assertIn("rank 2 was given other cases than rank 0", done.stderr)
        for flag, values in [("--seed", (1, 2)), ("--max-time", (0.02, 0.03))]:
            case = [COLLECTIVES, "--transport", TRANSPORTS[self.mpi], "--bytes", 4000, *(["--max-time", "0.02"] if flag == "--seed" else [])]
            done = self.command(*LAUNCHERS[self.mpi].split()[:-1], "-n", 1, *case, flag, values[0], ":",
                                "-n", 1, *case, flag, values[1], env=self.environment(), code=2)
            self.assertIn("rank 1 was given ", done.stderr)
            self.assertIn(flag, done.stderr)


@unittest.skipIf(why_not("openmpi"), f"unsupported: {why_not('openmpi')}")
class OpenMpi(Faults, RunTest):
    mpi = "openmpi"
    names_the_dead = ("noticed that process rank 1 ", "signal 9 (Killed)")
    # It ends the others by SIGTERM, of which they tell; on a busy machine its SIGKILL comes before they could.
    silent = rf"(rank 1 \(process {{process}} on {socket.gethostname()}\)|ranks (0, )?1(, 2)? on {socket.gethostname()})"
    unequal = ("timeout", "MPI_Allreduce: MPI_ERR_TRUNCATE", 7)
    unequal_within = ((6, "timeout"), (7, "timeout"))  # a message that is received and one that is sent

    def test_more_ranks_than_slots(self):
        suite = self.suite([{"benchmark": "collectives", "problem": ["4000"]}])
        done = self.run_suite(suite, "--launcher", "mpirun.openmpi -n 512", env=self.environment(OMPI_MCA_rmaps_base_oversubscribe="0"))
        self.assertIn(done.returncode, (2, 7), done.stderr)
        said = done.stderr  # the launcher is asked for the list of cases first: there is no result
        self.assertIn("not enough slots", said)
        self.assertIn("oversubscribe", said)

    def test_srun_that_serves_no_mpi(self):
        done = self.command(COLLECTIVES, "--bytes", 4, "--transport", "mpi", env=self.environment(SLURM_PROCID="0", SLURM_STEP_NUM_TASKS="2"))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("set SLURM_MPI_TYPE=pmix, or build with the other MPI", done.stderr)


@unittest.skipIf(why_not("mpich"), f"unsupported: {why_not('mpich')}")
class Mpich(Faults, RunTest):
    mpi = "mpich"
    # The words are those of its launcher: no rank, and a process that is not always the one that ended first.
    names_the_dead = (f"RUNNING AT {socket.gethostname()}", "EXIT CODE: 9")
    silent = rf"ranks 0, 1 on {socket.gethostname()}"  # it kills the others, too
    unequal_within = ((3, "timeout"), (6, "failed"))  # the other of two ranks needs no more messages, or one more
    unequal = ("incorrect", r"receive\[", 3)  # it says nothing; the numbers are wrong, and are seen to be

    @unittest.skipIf(why_not("openmpi"), "the other MPI is not here")
    def test_the_other_mpi_s_launcher_is_refused(self):
        # Ranks of MPICH under Open MPI's launcher would each believe to be alone.
        (self.folder / "plugins").mkdir()
        os.symlink(BUILD / "lib" / "assay" / "libassay_mpich.so", self.folder / "plugins" / "libassay_mpi.so")
        done = self.command(*LAUNCHERS["openmpi"].split(), 3, COLLECTIVES, "--bytes", 4, "--transport", "mpich",
                            env=self.environment(ASSAY_PLUGIN_PATH=str(self.folder / "plugins")))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("launcher", done.stderr)


@unittest.skipIf(why_not("openmpi"), f"unsupported: {why_not('openmpi')}")
class FaultsOfInput(RunTest):
    """Each of two ranks has a folder of its own, as on two nodes, with a file of the same name in it."""

    def setUp(self):
        super().setUp()
        self.folders = [self.folder / "0", self.folder / "1"]
        for folder in self.folders:
            folder.mkdir()

    def ranks(self, *command, code):
        words = ["mpirun.openmpi", "--oversubscribe"]
        for folder in self.folders:
            words += ["-n", "1", "-wdir", folder, *command, ":"]
        return self.command(*words[:-1], env=self.environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"), code=code).stderr

    def test_a_table(self):
        table = [BIN / "assay-kmeans", "--data", "table.csv", "--threads", 1, "--max-time", 0.02]
        good = "a,b\n" + "".join(f"{i % 7},{i % 5}\n" for i in range(40))
        (self.folders[0] / "table.csv").write_text(good)
        said = self.ranks(*table, code=2)
        self.assertIn(f"assay-kmeans: --data: rank 1 on {socket.gethostname()}: ", said)
        self.assertIn("table.csv", said)
        for folder in self.folders:
            (folder / "table.csv").write_text("")
        self.assertEqual(self.ranks(*table, code=2).count("assay-kmeans: "), 1)
        for folder in self.folders:
            (folder / "table.csv").write_text(good)
        self.ranks(*table, code=0)


    def test_a_checkpoint(self):
        train = [BIN / "assay-resnet50", "--problem", "d18w4s32c5", "--batch", 8, "--threads", 1, "--steps", 1, "--data", "learnable:n32v10",
                 "--epochs", 3, "--target", 0, "--checkpoint", "kept"]
        mine, other = (folder / "kept" for folder in self.folders)
        self.ranks(*train, code=0)
        self.assertFalse(other.exists())
        self.assertIn(f"rank 1 on {socket.gethostname()}: cannot open the file kept", self.ranks(*train, "--restart", "yes", code=2))
        shutil.copy(mine, other)
        self.ranks(*train, "--restart", "yes", code=0)
        self.assertEqual(mine.read_bytes(), other.read_bytes())  # the target was reached: nothing was left to train
        train[train.index("--target") + 1] = 1
        self.ranks(*train, "--unreached", "kept", "--restart", "yes", code=0)
        self.assertNotEqual(mine.read_bytes(), other.read_bytes())  # of more epochs
        self.assertIn("rank 1 reads another checkpoint", self.ranks(*train, "--restart", "yes", code=2))


    def test_threads_that_one_rank_cannot_start(self):
        # The other rank goes on in collective calls only if this one does, too.
        words = [BIN / "assay-resnet50", "--problem", "d18w4s32c5", "--batch", 4, "--threads", 2, "--steps", 1, "--direction"]
        for direction in "training", "inference":
            with self.subTest(direction):
                done = self.command("timeout", 100, "mpirun.openmpi", "--oversubscribe", "-n", 1, *words, direction, ":", "-n", 1, "env",
                                    "OMP_THREAD_LIMIT=1", *words, direction, code=6,
                                    env=self.environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"))
                self.assertIn(f"rank 1 on {socket.gethostname()}: 2 threads were asked for, OpenMP gives 1", done.stdout)


class Sizes(RunTest):
    """Sizes that are refused, and those that are not, on three ranks."""

    @unittest.skipIf(why_not("openmpi"), f"unsupported: {why_not('openmpi')}")
    def test_empty_and_not_divisible(self):
        launcher = [*LAUNCHERS["openmpi"].split(), 3]
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
        done = self.command(COLLECTIVES, "--bytes", 4, "--transport", "nccl", "--device", "gpu", env=self.environment(), code=6)
        self.assertIn("unsupported: nccl: unavailable: ", done.stdout)


if __name__ == "__main__":
    main(verbosity=2)
