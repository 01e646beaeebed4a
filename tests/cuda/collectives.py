#!/usr/bin/env python3
"""Collectives on device buffers: NCCL, host transports staged, and the hybrids of both, by ranks on fake GPUs (fake/cudart.cpp),
whose memory no processor may touch, and a fake NCCL (fake/nccl.cpp). Nothing here says anything of NCCL's own arithmetic."""
import json
import os
import pathlib
import shutil

from run_helper import BIN, RunTest, main

FAKES = pathlib.Path(os.environ["FAKE_CUDA"])
PRELOAD = ":".join(str(FAKES / os.environ[name]) for name in ("CUDART_SONAME", "NCCL_SONAME"))
MPIRUN = shutil.which("mpirun.openmpi") or shutil.which("mpirun")
STAGED = "staged through pinned host memory"


class Collectives(RunTest):
    def rows(self, ranks, *words, code=0, fakes=PRELOAD, before=(), **variables):
        out = self.folder / "c.json"
        out.unlink(missing_ok=True)
        environment = self.environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                                       OMPI_MCA_rmaps_base_oversubscribe="1", FAKE_GPU_GUARDED="1",
                                       **{"FAKE_GPU_COUNT": str(ranks), **variables})
        environment.pop("ASSAY_PLUGIN_PATH")
        preload = ("env", f"LD_PRELOAD={fakes}") if fakes else ()
        self.command(MPIRUN, "-n", ranks, *before, *preload, BIN / "assay-collectives", "--device", "gpu", "--max-time", "0.002",
                     "--min-samples", "2", "--out", out, *words, env=environment, code=code)
        return json.loads(out.read_text())["rows"]

    def test_nccl_does_every_collective(self):
        rows = self.rows(3, "--transport", "nccl", "--collective", "allreduce,reduce,reduce_scatter,allgather,broadcast,alltoall,sendrecv",
                         "--precision", "fp64,fp32,fp16,bf16,int32", "--op", "sum,max,average", "--bytes", "n60")
        refused = [row for row in rows if row["parameters"]["op"] == "average" and row["parameters"]["precision"] == "int32"]
        self.expect_ok([row for row in rows if row not in refused], len(rows) - 3)
        for row in rows:
            self.assertIn("gpu", row["id"])

    def test_a_transport_of_the_host_is_staged(self):
        rows = self.rows(3, "--transport", "mpi", "--collective",
                         "allreduce,reduce,reduce_scatter,allgather,broadcast,alltoall,sendrecv,barrier", "--placement", "all",
                         "--mode", "all", "--root", "1", "--bytes", "n60")
        # Nobody would know what was sent in a message in place.
        refused = [row for row in rows if row["status"] == "unsupported"]
        self.assertEqual({row["parameters"]["collective"] for row in refused}, {"sendrecv"})
        for row in self.expect_ok([row for row in rows if row not in refused], len(rows) - len(refused)):
            self.assertIn(STAGED, row["executed"]["implementation"])
        self.assertGreater(len(rows), 20)

    def test_one_table_of_nccl_and_mpi(self):
        rows = self.expect_ok(self.rows(4, "--transport", "nccl,mpi,gloo", "--bytes", "4,400000"), 6)
        for row in rows:
            self.assertEqual(STAGED in row["executed"]["implementation"], row["parameters"]["transport"] != "nccl")
            self.assertEqual(row["parameters"]["device"], "gpu")

    def test_algorithms_of_ours_are_staged_whole(self):
        algorithms = ["ring", "halving_doubling", "hierarchical", "torus2d", "ddl", "tree", "shared_memory", "horovod_hybrid", "exascale_hybrid"]
        rows = self.expect_ok(self.rows(4, "--transport", "mpi", "--algorithm", ",".join(algorithms), "--bytes", "n1001"), len(algorithms))
        for row in rows:
            self.assertTrue(row["executed"]["implementation"].startswith("Assay's "))
            self.assertTrue(row["executed"]["implementation"].endswith(STAGED + ", over mpi"), row["executed"]["implementation"])

    def test_the_hybrids_of_the_documents(self):
        for ranks, per_node in ((4, 4), (4, 2), (8, 4)):
            algorithms = ["horovod_hybrid", "exascale_hybrid"] if per_node == 4 else ["horovod_hybrid"]
            rows = self.rows(ranks, "--transport", "mpi", "--intra-node", "nccl", "--algorithm", "horovod_hybrid,exascale_hybrid",
                             "--ranks-per-node", per_node, "--precision", "fp64,fp32,int32", "--bytes", "n1,n1003")
            ran = [row for row in rows if row["parameters"]["algorithm"] in algorithms]
            for row in self.expect_ok(ran, 6 * len(algorithms)):
                words = row["executed"]["implementation"]
                if row["problem"]["bytes"] > 8:
                    self.assertIn("NCCL", words)
                    self.assertIn("MPI_Allreduce, " + STAGED, words)
            for row in rows:
                if row not in ran:
                    self.assertIn("needs four ranks on each node", row["reason"])

    def test_the_library_is_judged_by_its_calls_and_not_by_the_build_s(self):
        rows = self.expect_ok(self.rows(2, "--transport", "nccl", "--bytes", "n60", FAKE_NCCL_VERSION="22803"), 1)
        self.assertEqual(rows[0]["executed"]["implementation"], "NCCL 2.28.3 allreduce")
        row = self.rows(2, "--transport", "nccl", "--bytes", "n60", code=6, FAKE_NCCL_VERSION="21212")[0]
        self.assertIn("NCCL 2.12.12 is loaded, but the plugin's calls need 2.13.0 or newer", row["reason"])

    def test_a_library_without_alltoall_sends_and_receives(self):
        older = self.folder / os.environ["NCCL_SONAME"]
        older.write_bytes((FAKES / older.name).read_bytes().replace(b"\0ncclAlltoAll\0", b"\0ncclAlltoNil\0"))
        fakes = PRELOAD.replace(str(FAKES / older.name), str(older))
        rows = self.rows(3, "--transport", "nccl", "--collective", "alltoall,allreduce", "--bytes", "n60", fakes=fakes, FAKE_NCCL_VERSION="22205")
        words = {row["parameters"]["collective"]: row["executed"]["implementation"] for row in self.expect_ok(rows, 2)}
        self.assertEqual(words, {"alltoall": "NCCL 2.22.5 alltoall of sends and receives", "allreduce": "NCCL 2.22.5 allreduce"})

    def test_a_wrong_element_of_nccl_is_caught(self):
        for words in (("--transport", "nccl"), ("--transport", "mpi", "--intra-node", "nccl", "--algorithm", "horovod_hybrid")):
            row = self.rows(2, *words, "--bytes", "n1000", code=3, FAKE_NCCL_FLIPS="123")[0]
            self.assertEqual(row["status"], "incorrect")

    def test_each_rank_has_a_gpu_of_its_own(self):
        # The fake NCCL refuses two ranks on one, as the real one does; here it is refused before.
        row = self.rows(2, "--transport", "nccl", "--bytes", "4", code=6, FAKE_GPU_COUNT="1")[0]
        self.assertEqual(row["status"], "unsupported")
        self.assertIn("ranks 0 and 1 would share the GPU", row["reason"])
        # And all of its memory: two vectors and the copy that fills them need 6 MiB of 10.
        self.expect_ok(self.rows(2, "--transport", "nccl,mpi", "--bytes", "2MiB", FAKE_GPU_BYTES=str(10 << 20)), 2)

    def test_staging_asks_whether_the_host_has_the_memory(self):
        # Two ranks, each of which stages two vectors of 2 GiB, or both together one of 8 GiB: the fake GPU has them, the host's
        # 6 GB of addresses do not.
        limited = ("bash", "-c", 'ulimit -v 6000000; exec "$@"', "limited")
        for words in (("--bytes", "2GiB"), ("--bytes", "8GiB", "--intra-node", "nccl", "--algorithm", "horovod_hybrid")):
            row = self.rows(2, "--transport", "mpi", *words, code=7, before=limited, FAKE_GPU_BYTES=str(1 << 40))[0]
            self.assertEqual(row["status"], "failed")
            self.assertRegex(row["reason"], r"staging needs 8 GiB of this host's memory, page-locked, but [\d.]+ GiB are available")
        self.expect_ok(self.rows(2, "--transport", "mpi", "--bytes", "4", before=limited), 1)

    def test_without_a_gpu_or_where_data_are_the_host_s_it_says_so(self):
        row = self.rows(2, "--transport", "mpi", "--bytes", "4", fakes="", code=6)[0]
        self.assertEqual(row["status"], "unsupported")
        self.assertRegex(row["reason"], r"mpi reads host memory, and staging GPU memory needs nccl to select the GPU \(nccl: unavailable: ")
        for words, reason in ((("--wire", "fp16"), "--wire converts data on the host"), (("--buffers", "registered"), "registered buffers are host memory"),
                              (("--transport", "nccl", "--intra-node", "mpi", "--algorithm", "horovod_hybrid"), "mpi reads host memory (--intra-node)"),
                              (("--transport", "nccl", "--algorithm", "ring"), "ring reduces in host memory"),
                              (("--intra-node", "nccl", "--algorithm", "ring"), "ring reduces in host memory"),
                              (("--intra-node", "nccl", "--algorithm", "horovod_hybrid", "--op", "average"), "cannot average device buffers")):
            row = self.rows(2, "--bytes", "n8", *words, code=6)[0]
            self.assertEqual(row["status"], "unsupported", words)
            self.assertIn(reason, row["reason"])


if __name__ == "__main__":
    main()
