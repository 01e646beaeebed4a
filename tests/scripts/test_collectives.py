#!/usr/bin/env python3
"""assay-collectives under mpirun: every collective verified on every rank, rows complete, bad input refused."""
import json
import os
import pathlib
import shutil
import subprocess
import time
import unittest

from run_helper import ASSAY, AT_ONCE, BIN, BUILD, SOURCE, RunTest, main

COLLECTIVES = str(BIN / "assay-collectives")
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def launcher():
    """mpirun of the MPI that the plugin was built with, or None."""
    if not (BUILD / "lib/assay/libassay_mpi.so").exists():
        return None
    return shutil.which("mpirun.openmpi") or shutil.which("mpirun")


@unittest.skipUnless(launcher(), "the plugin mpi was not built, or there is no mpirun")
class Collectives(RunTest):
    def environment(self, **more):
        environment = super().environment(**{**MPI, **more})
        environment.pop("ASSAY_PLUGIN_PATH")
        return environment

    def start(self, ranks, *words, code=0):
        out = self.folder / "c.json"
        out.unlink(missing_ok=True)
        if "--out" not in words:
            words = ("--out", out, *words)
        done = self.command(launcher(), "-n", ranks, COLLECTIVES, "--max-time", "0.005", *words, code=code,
                            env=self.environment(**AT_ONCE))
        return done, (json.loads(out.read_text()) if out.exists() else None)

    def test_every_collective_is_verified_on_every_rank(self):
        for ranks in (1, 3):
            done, result = self.start(ranks, "--collective", "all", "--precision", "all", "--op", "all", "--placement", "all",
                                      "--mode", "all", "--bytes", "n60")
            rows = result["rows"]
            self.assertGreater(len(rows), 150)
            for row in rows:
                parameters = row["parameters"]
                refused = (parameters["collective"] in ("sendrecv", "alltoallv") and parameters["placement"] == "in_place") or \
                          parameters["collective"] == "bisection" or \
                          (parameters["op"] == "average" and parameters["precision"] == "int32")
                self.assertEqual(row["status"], "unsupported" if refused else "ok", f"{row['id']}: {row['reason']}")
                self.assertEqual(parameters["ranks"], ranks)
                self.assertIn(f"/r{ranks}/n1", row["id"])

    def test_a_row_tells_ranks_and_rates(self):
        done, result = self.start(4, "--collective", "allreduce", "--bytes", "4,400000")
        self.assertEqual(done.stdout.count("collectives/allreduce"), 2, "rank 0 alone talks")
        for row in result["rows"]:
            time, size = row["time_s"], row["problem"]["bytes"]
            self.assertEqual(len(time["rank_medians_s"]), 4)
            self.assertEqual(set(row["problem"]["amounts"]), set(row["rates"]))
            self.assertEqual(row["verification"]["wrong"], 0)
            self.assertLessEqual(max(time["rank_medians_s"]), time["median"] * 1.000001)
            self.assertGreater(time["barrier_skew_s"], 0)
            self.assertTrue(time["slowest_host"])
            self.assertAlmostEqual(row["rates"]["algbw"] * time["median"], size, delta=1e-6 * size)
            self.assertAlmostEqual(row["rates"]["busbw"] / row["rates"]["algbw"], 1.5)
            self.assertAlmostEqual(row["rates"]["deepbench_bw"] / row["rates"]["algbw"], 4)
            self.assertIn("MPI_Allreduce", row["executed"]["implementation"])
            self.assertIn("4 ranks", row["verification"]["reference"])
        environment = result["environments"][0]
        self.assertEqual(len(environment["rank_hosts"]), 4)
        self.assertIn("mpi", environment["software"]["libraries"])
        self.command(ASSAY, "validate", self.folder / "c.json", code=0)

    def test_a_number_changed_by_hand_is_refused(self):
        _, result = self.start(2, "--bytes", "400000")
        def double_busbw(row):
            row["rates"]["busbw"] *= 2
            row["problem"]["amounts"]["busbw"] *= 2
        for change in (lambda row: row["rates"].update(busbw=2 * row["rates"]["busbw"]), double_busbw,
                       lambda row: row["rates"].update(deepbench_bw=1),
                       lambda row: row["time_s"]["rank_medians_s"].__setitem__(1, 10 * row["time_s"]["median"])):
            changed = json.loads(json.dumps(result))
            change(changed["rows"][0])
            file = self.folder / "changed.json"
            file.write_text(json.dumps(changed))
            self.command(ASSAY, "table", file, code=2)

    def test_bad_input_is_exit_2_and_told_once(self):
        for words, text in ((("--bytes", "0"), "moves nothing"), (("--bytes", "6"), "whole number of elements"),
                            (("--collective", "allgather", "--bytes", "4"), "for each of 2 ranks"),
                            (("--root", "2", "--collective", "reduce"), "(0 to 1)"), (("--bites", "4"), "--bytes"),
                            (("--out", "/dev/null/c.json"), "/dev/null")):
            done, _ = self.start(2, *words, code=2)
            self.assertEqual(done.stderr.count("assay-collectives: "), 1, done.stderr)
            self.assertIn(text, done.stderr)

    def test_without_a_launcher_it_is_one_rank(self):
        out = self.folder / "c.json"
        done = self.command(COLLECTIVES, "--bytes", "400,8:64:2", "--collective", "all", "--max-time", "0.02", "--out", out, code=0)
        self.assertEqual(done.stderr.count("nothing is communicated"), 1, done.stderr)
        rows = json.loads(out.read_text())["rows"]
        self.assertTrue(all(row["rates"] == {} for row in rows), "one rank has no bandwidth")
        self.assertEqual({row["problem"]["bytes"] for row in rows}, {0, 8, 16, 32, 64, 400})
        self.command(ASSAY, "validate", out, code=0)
        self.assertTrue(all(row["parameters"]["ranks"] == 1 for row in rows))
        for row in rows:  # pairs alone need a second rank
            pairs = row["parameters"]["collective"] == "bisection"
            self.assertEqual(row["status"], "unsupported" if pairs else "ok", row["reason"])
            if pairs:
                self.assertIn("an even number of ranks (1 were started)", row["reason"])

    def test_a_launcher_that_this_mpi_does_not_know_is_refused(self):
        environment = self.environment(PMI_RANK="0", PMI_SIZE="2")
        done = self.command(COLLECTIVES, "--bytes", "4", env=environment)
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertIn("cannot join the 2 processes", done.stderr)

    def test_a_benchmark_of_one_process_measures_once(self):
        out = self.folder / "c.json"
        done = self.command(launcher(), "-n", 2, BIN / "assay-stream", "--problem", "triad_n1000", "--threads", "1", "--max-time",
                            "0.02", "--out", out, code=0)
        self.assertEqual(done.stdout.count("stream/"), 1, done.stdout)

    def test_assay_run_starts_the_ranks(self):
        suite = self.suite([{"benchmark": "collectives", "collective": ["allreduce", "broadcast"], "bytes": [4, 4096]}],
                           launch={"ranks": 3})
        self.run_suite(suite, code=0)
        rows = self.rows()
        self.assertEqual({row["parameters"]["ranks"] for row in rows}, {3})
        self.assertEqual(len(rows), 4)
        shutil.rmtree(self.out)
        self.run_suite(suite, "--ranks", "2", code=0)
        self.assertEqual({row["parameters"]["ranks"] for row in self.rows()}, {2})
        shutil.rmtree(self.out)
        self.run_suite(suite, "--launcher", launcher() + " -n 1", code=0)
        self.assertEqual({row["parameters"]["ranks"] for row in self.rows()}, {1})

    def test_the_launchers_message_comes_with_the_way_out(self):
        suite = self.suite([{"benchmark": "collectives", "bytes": [4]}], launch={"ranks": 2})
        environment = self.environment()
        del environment["OMPI_MCA_rmaps_base_oversubscribe"]
        done = self.run_suite(suite, "--ranks", "4000", env=environment)
        self.assertIn("slots", done.stderr)
        self.assertIn("--oversubscribe", done.stderr)
        self.assertNotEqual(done.returncode, 0)

    def over_gloo(self, *policy):
        """Scheduling policies of a rank's threads, the caller's and the others', as seen from time to time; and what the rows say."""
        out = f"{self.out}.json"
        process = subprocess.Popen([launcher(), "-n", "2", *policy, COLLECTIVES, "--transport", "gloo", "--algorithm", "library,ring,horovod_hybrid",
                                    "--bytes", "4", "--max-time", "1", "--out", out],
                                   env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.addCleanup(lambda: process.poll() is None and (process.kill(), process.wait()))
        seen = []
        while process.poll() is None:
            for rank in self.children_at_work():
                try:
                    if "libassay_gloo" in pathlib.Path(f"/proc/{rank}/maps").read_text():
                        others = [os.sched_getscheduler(int(task)) for task in os.listdir(f"/proc/{rank}/task") if int(task) != rank]
                        seen.append((os.sched_getscheduler(rank), others))
                except OSError:
                    continue  # it has ended
            time.sleep(0.02)
        self.assertEqual(process.returncode, 0)
        said = [row["executed"]["implementation"] for row in json.loads(pathlib.Path(out).read_text())["rows"] if row["status"] == "ok"]
        self.assertEqual(len(said), 3)
        return max(reversed(seen), key=lambda one: len(one[1])), said  # the last: the others are all there and settled

    @unittest.skipUnless(os.sched_getscheduler(0) == os.SCHED_OTHER, "the tests run under another policy than the usual one")
    @unittest.skipUnless((BUILD / "lib/assay/libassay_gloo.so").exists(), "gloo was not built")
    def test_gloo_s_thread_gives_way_and_the_caller_s_does_not(self):
        (caller, others), said = self.over_gloo()
        self.assertEqual(caller, os.SCHED_OTHER)
        self.assertIn(os.SCHED_BATCH, others)
        for one in said:
            self.assertEqual(one.count(", Gloo's thread under SCHED_BATCH"), 1, one)

    @unittest.skipUnless((BUILD / "lib/assay/libassay_gloo.so").exists(), "gloo was not built")
    def test_an_interface_without_a_name_is_told(self):
        done = self.command(launcher(), "-n", 2, COLLECTIVES, "--transport", "gloo", "--bytes", 4, "--max-time", 0.01,
                            env=self.environment(GLOO_SOCKET_IFNAME=""))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("has an empty GLOO_SOCKET_IFNAME", done.stdout + done.stderr)

    @unittest.skipUnless((BUILD / "lib/assay/libassay_gloo.so").exists(), "gloo was not built")
    def test_a_policy_that_the_user_has_set_stays_gloo_s_thread_s_too(self):
        (caller, others), said = self.over_gloo("chrt", "--idle", "0")
        self.assertEqual({caller, *others}, {os.SCHED_IDLE})
        for one in said:
            self.assertNotIn("SCHED_BATCH", one)

    @unittest.skipUnless((BUILD / "lib/assay/libassay_oneccl.so").exists(), "oneccl was not built")
    def test_oneccl_s_threads_give_way_where_they_share_processors(self):
        alone = ("taskset", "-c", min(os.sched_getaffinity(0)))
        for given, how in (({}, "sched_yield"), ({"CCL_YIELD": "sleep"}, "sleep")):
            done = self.command(*alone, launcher(), "--bind-to", "none", "-n", 2, COLLECTIVES, "--transport", "oneccl", "--bytes", 4,
                                "--algorithm", "library,ring,horovod_hybrid", "--collective", "allreduce,sendrecv", "--max-time", "0.005",
                                "--out", self.folder / f"{how}.json", env=self.environment(**given), code=0)
            ran = [row["executed"]["implementation"] for row in json.loads((self.folder / f"{how}.json").read_text())["rows"]
                   if row["status"] == "ok"]
            self.assertEqual(len(ran), 4, done.stdout)  # sendrecv has library alone
            for one in ran:
                self.assertEqual(one.count(f", CCL_YIELD={how}"), 1, one)

    def test_shipped_suites_are_understood(self):
        for name in ("coral2-comm", "deepbench-allreduce"):
            self.command(ASSAY, "validate", SOURCE / "suites" / f"{name}.json", code=0)
            done = self.command(launcher(), "-n", 2, COLLECTIVES, "--suite", name, "--list", code=0)
            self.assertIn("collectives/allreduce/fp32/mpi/library/400000/r2/n1", done.stdout)


if __name__ == "__main__":
    main()
