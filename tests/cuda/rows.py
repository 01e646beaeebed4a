#!/usr/bin/env python3
"""The backend cuda on a fake GPU (fake/cudart.cpp, fake/cudnn.cpp), which convolves on the host by the descriptors that it is
given: layouts, directions, groups, memory, errors. Nothing here says anything of NVIDIA's kernels."""
import json
import os
import pathlib
import shutil
import statistics
import unittest

from run_helper import BIN, RunTest, main

FAKES = pathlib.Path(os.environ["FAKE_CUDA"])
PRELOAD = ":".join(str(FAKES / os.environ[name]) for name in ("CUDART_SONAME", "CUDNN_SONAME"))
CUPTI = FAKES / os.environ["CUPTI_SONAME"]
MPIRUN = shutil.which("mpirun.openmpi") or shutil.which("mpirun")
NVML = str(FAKES / "libnvidia-ml.so.1")
SHAPES = ["mb2ic8ih7oc4oh7kh3ph1",            # square
          "mb1ic4ih9iw6oc8oh5ow3kh3kw4sh2sw1ph1pw0",  # nothing alike in the two dimensions
          "g2mb2ic8ih6oc12oh4kh3",            # groups
          "mb2ic4ih9oc4oh5kh3dh1",            # dilation
          "mb1ic4id4ih5iw6oc4od4oh5ow6kd3kh3kw3pd1ph1pw1"]  # depth
FORWARD = ["implicit_gemm", "implicit_precomp_gemm", "gemm", "direct", "fft", "fft_tiling", "winograd", "winograd_nonfused"]
BWD_DATA = ["algo_0", "algo_1", "fft", "fft_tiling", "winograd", "winograd_nonfused"]
BWD_WEIGHTS = ["algo_0", "algo_1", "fft", "algo_3", "winograd", "winograd_nonfused", "fft_tiling"]


class Rows(RunTest):
    def rows(self, *words, code=None, limits=("--max-time", "0.001", "--min-samples", "2"), **variables):
        out = self.folder / "rows.json"
        out.unlink(missing_ok=True)
        # Work of equal duration, so that the first candidate is taken.
        environment = self.environment(**{"LD_PRELOAD": PRELOAD, "ASSAY_CUDA_TRACE": "0", "FAKE_GPU_WORK_US": "1", **variables})
        environment.pop("NVIDIA_TF32_OVERRIDE", None)
        environment.update({name: value for name, value in variables.items()})
        self.command(BIN / "assay-conv", "--backend", "cuda", "--device", "gpu", *limits, "--out", out, *words, env=environment,
                     code=code)
        self.document = json.loads(out.read_text())
        return self.document["rows"]

    def all_ok(self, *words, count, **variables):
        return self.expect_ok(self.rows(*words, code=0, **variables), count)

    def test_every_direction_precision_and_layout_is_right(self):
        rows = self.all_ok("--problem", ",".join(SHAPES), "--direction", "forward,bwd_data,bwd_weights", "--precision",
                           "fp64,fp32,tf32,fp16", "--layout", "nchw,nhwc", count=len(SHAPES) * 3 * 4 * 2)
        for row in rows:
            self.assertEqual(row["executed"]["layout"], row["parameters"]["layout"])

    def test_any_minor_version_of_cudnn_is_accepted_and_no_other_major_one(self):
        words = ("--problem", SHAPES[0], "--precision", "fp32")
        major = int(os.environ["CUDNN_SONAME"].rpartition(".")[2])
        oldest, newest = (10000 * major, 10000 * major + 9999) if major >= 9 else (1000 * major, 1000 * major + 999)
        for version, text in ((oldest, f"{major}.0.0"), (newest, f"{major}.99.99" if major >= 9 else f"{major}.9.99")):
            self.all_ok(*words, count=1, FAKE_CUDNN_VERSION=str(version))
            self.assertEqual(self.document["environments"][0]["software"]["libraries"]["cuda"]["cudnn"], text)
        for version, text in ((8907, "8.9.7"), (100002, "10.0.2")):
            row = self.rows(*words, code=6, FAKE_CUDNN_VERSION=str(version))[0]
            self.assertEqual(row["reason"], f"cuda: unavailable: cuDNN {text} is loaded, but the plugin was built for cuDNN {major}")

    def test_a_cudnn_of_another_cuda_is_refused(self):
        words = ("--problem", SHAPES[0], "--precision", "fp32")
        major = int(os.environ["CUDART_SONAME"].rpartition(".")[2])
        self.all_ok(*words, count=1, FAKE_CUDNN_CUDA=str(1000 * major + 990))
        other = 25 - major  # 12 and 13
        row = self.rows(*words, code=6, FAKE_CUDNN_CUDA=str(1000 * other + 40))[0]
        self.assertRegex(row["reason"], rf"^cuda: unavailable: cuDNN \S+ was built for CUDA {other}\.4, but CUDA {major}\.\d is loaded$")

    def test_plain_weights_are_laid_out_in_every_run(self):
        rows = self.all_ok("--problem", ",".join(SHAPES), "--direction", "forward,bwd_data,bwd_weights", "--precision",
                           "fp64,fp32,fp16", "--layout", "nhwc_oihw", count=len(SHAPES) * 3 * 3)
        for row in rows:
            self.assertEqual(row["executed"]["layout"], "nhwc_oihw")
        refused = self.rows("--problem", SHAPES[0], "--precision", "int8", "--layout", "nhwc_oihw", code=6)[0]
        self.assertIn("no int8 in nhwc_oihw", refused["reason"])

    def test_gradients_of_weights_are_fp32_of_16_bit_inputs(self):
        words = ("--problem", ",".join(SHAPES), "--direction", "bwd_weights", "--precision", "fp16_fp32,bf16_fp32")
        for row in self.all_ok(*words, "--layout", "nchw,nhwc,nhwc_oihw", count=len(SHAPES) * 2 * 3):
            self.assertEqual((row["executed"]["storage"] + "_fp32", row["executed"]["compute"]), (row["parameters"]["precision"], "tf32"))
            self.assertNotRegex(row["executed"]["algorithm"], "winograd|fft")
        # In tf32 the transformed inputs would be rounded, so Winograd and FFT use fp32 arithmetic, as do GPUs without tf32.
        for row in self.all_ok(*words, "--algorithm", "winograd,fft", count=len(SHAPES) * 2 * 2):
            self.assertEqual(row["executed"]["compute"], "fp32")
        rows = self.rows(*words, code=0, FAKE_GPU_CAPABILITY="7")
        self.assertEqual({(row["parameters"]["precision"], row["status"]) for row in rows}, {("fp16_fp32", "ok"), ("bf16_fp32", "unsupported")})
        self.assertIn("has no bf16", rows[-1]["reason"])

    def test_bf16_is_right_where_a_check_can_tell(self):
        rows = self.rows("--problem", ",".join(SHAPES), "--direction", "forward,bwd_data,bwd_weights", "--precision", "bf16",
                         "--layout", "nchw,nhwc", code=0)
        self.assertEqual(len(rows), len(SHAPES) * 3 * 2)
        self.assertEqual({row["status"] for row in rows}, {"ok", "unsupported"})
        for row in rows:
            with self.subTest(row["id"]):
                if row["status"] == "ok":
                    self.assertNotIn("winograd", row["executed"]["algorithm"])
                else:  # of F(4x4), which `auto` of the fake library chooses first where it can
                    self.assertIn("cannot tell a wrong result from a right one", row["reason"])

        for direction, algorithm in (("forward", "implicit_gemm"), ("bwd_data", "algo_1"), ("bwd_weights", "algo_1")):
            self.all_ok("--problem", ",".join(SHAPES), "--direction", direction, "--precision", "bf16", "--algorithm", algorithm,
                        "--layout", "nchw,nhwc", count=len(SHAPES) * 2)

    @unittest.skipUnless(CUPTI.exists(), "built without CUPTI")
    def test_parts_of_sums_that_are_added_in_16_bits(self):
        split = "sm90_xmma_wgrad_image_first_layer_f16f16_f32_f32_nhwckrsc_nhwc_hmma_k64c4r7s7_tile16x64x64_tensor1688_execute_kernel"
        whole = "sm80_xmma_wgrad_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize64x64x64_tensor16x8x16_execute_kernel"
        traced = {"LD_PRELOAD": f"{PRELOAD}:{CUPTI}", "ASSAY_CUDA_TRACE": "1",
                  "FAKE_CUDNN_PARTS": "algo_1:20", "FAKE_CUPTI_KERNELS": whole, "FAKE_CUPTI_KERNELS_algo_1": split}
        refused = {f"FAKE_CUPTI_KERNELS_{name}": split for name in BWD_WEIGHTS if "algo" not in name}  # they would be no transforms
        words = ("--problem", "mb4ic3ih46oc8oh46kh3ph1", "--direction", "bwd_weights", "--precision", "fp16")
        row = self.all_ok(*words, "--algorithm", "algo_1", count=1, **traced)[0]
        self.assertEqual((row["executed"]["accumulate"], row["executed"]["partial_sums"]), ("fp16", 32))
        # If no kernel name tells it, the row claims sums in fp32, and its results are wrong.
        row = self.rows(*words, "--algorithm", "algo_1", code=3, **{**traced, "FAKE_CUPTI_KERNELS_algo_1": whole})[0]
        self.assertEqual((row["status"], row["executed"]["accumulate"]), ("incorrect", "fp32_rz"))
        self.assertNotIn("kernels_s", row["executed"])  # a time of what is wrong
        self.all_ok(*words[:-1], "bf16", "--algorithm", "algo_1", count=1, **traced)
        # auto takes what adds in fp32 where it is as fast, else the fastest and says what it is. Offered: algo_3, algo_1, algo_0.
        offers = {**traced, **refused, "FAKE_CUPTI_KERNELS_algo_3": split, "FAKE_CUDNN_PARTS": "algo_3:20",
                  "FAKE_CUDNN_REFUSES": "graph"}
        for us, algorithm, accumulate in (("5", "algo_0", "fp32_rz"), ("9", "algo_3", "fp16")):
            row = self.all_ok(*words, count=1, FAKE_CUPTI_US_algo_0=us, **offers)[0]
            self.assertEqual((row["executed"]["algorithm"], row["executed"]["accumulate"]), (algorithm, accumulate))

    def test_plans_are_right_in_every_direction_precision_and_layout(self):
        words = ("--problem", ",".join(SHAPES), "--direction", "forward,bwd_data,bwd_weights")
        for row in self.all_ok(*words, "--precision", "fp64,fp32,tf32,fp16", "--layout", "nchw,nhwc", "--algorithm", "graph",
                               count=len(SHAPES) * 3 * 4 * 2):
            tf32 = row["parameters"]["precision"] == "tf32"
            self.assertEqual((row["executed"]["algorithm"], row["executed"]["evidence"]), ("graph", "requested" if tf32 else "library"))
            engine = "eng70_k2=3" if row["parameters"]["precision"] == "fp32" else "eng65_k2=3 TENSOR_CORE"
            self.assertIn(engine, row["executed"]["implementation"])
            self.assertEqual(row["executed"]["workspace_bytes"], 4096)
        self.all_ok(*words[:2], "--direction", "bwd_weights", "--precision", "fp16,fp16_fp32", "--layout", "nhwc_oihw", "--algorithm",
                    "graph", count=len(SHAPES) * 2)
        for row in self.all_ok(*words, "--algorithm", "graph_winograd,graph_fft", count=len(SHAPES) * 3 * 2):
            self.assertRegex(row["executed"]["implementation"], "WINOGRAD" if "winograd" in row["executed"]["algorithm"] else "FFT")
        self.assertIn("older interface alone", self.rows("--problem", SHAPES[0], "--precision", "int8", "--algorithm", "graph", code=6)[0]["reason"])

    def test_engines_that_note_another_arithmetic_are_not_taken(self):
        for precision, engine in (("fp32", 65), ("fp32", 46), ("tf32", 46), ("tf32", 70), ("fp32", 47), ("fp16", 46), ("fp16", 34)):
            row = self.rows("--problem", SHAPES[0], "--precision", precision, "--algorithm", "graph", code=6,
                            FAKE_CUDNN_ENGINE=f"engine_{engine}")[0]
            self.assertEqual(row["status"], "unsupported", (precision, engine))
            self.assertIn("offers no plan in this arithmetic", row["reason"])
        # An engine that may use tensor cores need not have used them.
        row = self.rows("--problem", SHAPES[0], "--precision", "tf32", "--algorithm", "graph", code=6, FAKE_PROMOTES_TF32="1")[0]
        self.assertIn("silently promoted", row["reason"])
        # F(m x m) of 13 points in one dimension has no bound.
        row = self.rows("--problem", SHAPES[0], "--algorithm", "graph_winograd", code=6, FAKE_CUDNN_ENGINE="engine_35")[0]
        self.assertIn("13", row["reason"])

    def test_a_plan_that_adds_parts_says_so(self):
        words = ("--problem", "mb4ic3ih46oc8oh46kh3ph1", "--direction", "bwd_weights", "--precision", "fp16", "--algorithm", "graph")
        executed = self.all_ok(*words, count=1, FAKE_CUDNN_ENGINE="engine_47")[0]["executed"]
        self.assertEqual((executed["accumulate"], executed["partial_sums"], executed["nondeterministic"]), ("fp16", 32, 1))
        executed = self.all_ok(*words, count=1)[0]["executed"]  # proposed later, but adds in fp32
        self.assertEqual((executed["accumulate"], executed["implementation"].split()[2]), ("fp32_rz", "eng65_k2=3"))

    def test_a_wrong_plan_is_never_a_result(self):
        for direction in ("forward", "bwd_data", "bwd_weights"):
            row = self.rows("--problem", SHAPES[0], "--direction", direction, "--precision", "fp16", "--algorithm", "graph", code=3,
                            FAKE_CUDNN_WRONG="engine_65")[0]
            self.assertEqual((row["status"], row["time_s"], row["samples_s"]), ("incorrect", None, []))

    def test_the_library_s_no_to_a_plan(self):
        words = ("--problem", SHAPES[0], "--precision", "fp16", "--algorithm", "graph")
        for late in ("FAKE_CUDNN_REFUSES", "FAKE_CUDNN_REFUSES_LATE"):
            self.assertIn("eng67", self.all_ok(*words, count=1, **{late: "engine_65"})[0]["executed"]["implementation"])
        self.assertIn("fake: no graph here", self.rows(*words, code=6, FAKE_CUDNN_REFUSES="graph")[0]["reason"])
        # An engine that breaks is left out, and the row names it. The row fails if no other engine runs.
        for broken, why in (("FAKE_CUDNN_FAILS", "broke"), ("FAKE_CUDNN_UNCOMPILED", "does not compile")):
            ran = self.all_ok(*words, count=1, **{broken: "engine_65"})[0]["executed"]["implementation"]
            self.assertRegex(ran, r"^cuDNN \S+ eng67_k2=3 TENSOR_CORE, without eng65_k2=3, which failed$")
            row = self.rows(*words, code=7, FAKE_CUDNN_ENGINE="engine_65", **{broken: "engine_65"})[0]
            self.assertEqual(row["status"], "failed")
            self.assertRegex(row["reason"], f"^eng65_k2=3: .*fake: engine_65 {why}")
        row = self.rows(*words, code=6, FAKE_GPU_BYTES="2000000", FAKE_CUDNN_WORKSPACE="1073741824")[0]
        self.assertIn("fits into the memory that is free", row["reason"])

    @unittest.skipUnless(CUPTI.exists(), "built without CUPTI")
    def test_the_fastest_of_algorithms_and_plans_is_taken(self):
        kernel = "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize64x64x64_tensor16x8x16_execute_kernel"
        traced = {"LD_PRELOAD": f"{PRELOAD}:{CUPTI}", "ASSAY_CUDA_TRACE": "1", "FAKE_CUPTI_KERNELS": kernel}
        words = ("--problem", SHAPES[0], "--precision", "fp16")
        executed = self.all_ok(*words, "--algorithm", "graph", count=1, FAKE_CUPTI_US_engine_67="3", **traced)[0]["executed"]
        self.assertEqual((executed["evidence"], executed["kernels_s"], executed["chosen_by_trace"]), ("trace", 3e-6, 4))
        self.assertRegex(executed["implementation"], f"eng67_k2=3 TENSOR_CORE: {kernel}")
        # The older interface takes the first algorithm whose kernel is no transform. A plan that breaks is left out.
        for variables, algorithm in (({"FAKE_CUPTI_US_engine_65": "4"}, "graph"), ({}, "direct"),
                                     ({"FAKE_CUPTI_US_engine_65": "4", "FAKE_CUDNN_FAILS": "engine_65"}, "direct")):
            row = self.all_ok(*words, count=1, **traced, **variables)[0]
            self.assertEqual(row["executed"]["algorithm"], algorithm)
        # One that the heuristics rank later is taken if it is faster by more than times may differ by chance.
        for us, engine in (("98", "eng65"), ("96", "eng67")):
            row = self.all_ok(*words, "--algorithm", "graph", count=1, FAKE_CUPTI_US="100", FAKE_CUPTI_US_engine_67=us, **traced)[0]
            self.assertIn(engine, row["executed"]["implementation"])
        # A duration by another clock is compared with none: here the records of the first plan are lost.
        held = {"FAKE_GPU_WORK_US": "100", "FAKE_GPU_SUBMIT_US": "300", "FAKE_CUPTI_KERNELS_engine_65": ""}
        executed = self.all_ok(*words, "--algorithm", "graph", count=1, **held, **traced)[0]["executed"]
        self.assertIn("eng65", executed["implementation"])
        self.assertFalse({"chosen_by_events", "chosen_by_trace"} & executed.keys(), executed)
        # The kernel's name need not tell that parts are added. If it tells that they are added in fp32, their bound is
        # that of fp32.
        parts = {"FAKE_CUDNN_ENGINE": "engine_47", **traced}
        words = ("--problem", "mb4ic3ih46oc8oh46kh3ph1", "--direction", "bwd_weights", "--precision", "fp16", "--algorithm", "graph")
        executed = self.all_ok(*words, count=1, **parts)[0]["executed"]
        self.assertEqual((executed["accumulate"], executed["partial_sums"]), ("fp16", 32))
        parts["FAKE_CUPTI_KERNELS"] += ";cutlass::reduction::kernel::ReduceSplitK<E, cutlass::reduction::thread::ReduceAdd<float, float, 4>>"
        row = self.rows(*words, code=3, **parts)[0]
        self.assertEqual((row["status"], row["executed"]["accumulate"]), ("incorrect", "fp32_rz"))
        self.assertNotIn("partial_sums", row["executed"])
        # Notes are believed as far as the names of the kernels do not contradict them.
        row = self.rows("--problem", SHAPES[0], "--algorithm", "graph", code=6, **traced)[0]
        self.assertIn("fp32 was computed on tensor cores", row["reason"])

    def test_without_a_trace_the_fastest_is_found_by_events(self):
        words = ("--problem", SHAPES[0], "--precision", "fp16")
        for us, engine in (("98", "eng65"), ("96", "eng67")):
            held = {"FAKE_GPU_WORK_US": "100", "FAKE_GPU_WORK_US_engine_67": us, "FAKE_GPU_SUBMIT_US": "300"}
            executed = self.all_ok(*words, "--algorithm", "graph", count=1, **held)[0]["executed"]
            self.assertIn(engine, executed["implementation"])
            self.assertEqual((executed["evidence"], executed["chosen_by_events"]), ("library", 4))
            self.assertNotIn("kernels_s", executed)
            # Times that contain the host's decide nothing: the library's first proposal is taken.
            executed = self.all_ok(*words, "--algorithm", "graph", count=1, FAKE_GPU_HOLDS="0", **held)[0]["executed"]
            self.assertIn("eng65", executed["implementation"])
            self.assertNotIn("chosen_by_events", executed)
        for variables, algorithm in (({"FAKE_GPU_WORK_US_engine_65": "80"}, "graph"), ({}, "winograd_nonfused"),
                                     ({"FAKE_GPU_WORK_US_engine_65": "80", "FAKE_CUDNN_FAILS": "engine_65"}, "winograd_nonfused")):
            row = self.all_ok(*words, count=1, FAKE_GPU_WORK_US="100", **variables)[0]
            self.assertEqual(row["executed"]["algorithm"], algorithm)

    @unittest.skipUnless(CUPTI.exists(), "built without CUPTI")
    def test_a_plan_that_cannot_be_judged_is_left_out(self):
        traced = {"LD_PRELOAD": f"{PRELOAD}:{CUPTI}", "ASSAY_CUDA_TRACE": "1", "FAKE_CUPTI_KERNELS": "simt_kernel"}
        for engine, us in (("34", "3"), ("35", "1")):  # the fastest has 13 points, for which there is no bound
            traced |= {f"FAKE_CUPTI_KERNELS_engine_{engine}": "winograd_kernel", f"FAKE_CUPTI_US_engine_{engine}": us}
        for algorithm in ("auto", "graph_winograd"):
            executed = self.all_ok("--problem", SHAPES[0], "--algorithm", algorithm, count=1, **traced)[0]["executed"]
            self.assertEqual((executed["algorithm"], executed["kernels_s"]), ("graph_winograd", 3e-6))
            self.assertIn("eng34", executed["implementation"])

    @unittest.skipUnless(MPIRUN, "needs mpirun")
    def test_ranks_take_what_runs_on_all_of_them(self):
        out = self.folder / "ranks.json"
        mpi = ("ALLOW_RUN_AS_ROOT", "ALLOW_RUN_AS_ROOT_CONFIRM", "MCA_rmaps_base_oversubscribe")
        mixed, graph = ("--direction", "bwd_weights", "--precision", "fp16_fp32"), ("--precision", "fp16", "--algorithm", "graph")
        for words, of_both, of_one, code, found in (
                (graph, {}, {"FAKE_CUDNN_REFUSES_LATE": "engine_65"}, 0, "eng67"),
                (graph, {}, {"FAKE_CUDNN_FAILS": "engine_65"}, 0, "eng67_k2=3 TENSOR_CORE, without eng65_k2=3, which failed"),
                (graph, {"FAKE_CUDNN_ENGINE": "engine_65"}, {"FAKE_CUDNN_FAILS": "engine_65"}, 7, "engine_65 broke"),
                ((), {}, {"FAKE_CUDNN_REFUSES": "winograd_nonfused"}, 0, '"algorithm":"winograd"'),
                (mixed, {"FAKE_CUDNN_REFUSES": "graph"}, {"FAKE_CUDNN_REFUSES_LATE": "algo_0"}, 0, '"algorithm":"algo_1"'),
                (mixed, {}, {"FAKE_GPU_CAPABILITY": "7"}, 0, '"compute":"fp32"')):  # it has no tf32
            out.unlink(missing_ok=True)
            rank = [("-n", 1, "env", f"LD_PRELOAD={PRELOAD}", *(f"{name}={value}" for name, value in given.items()),
                     BIN / "assay-conv", "--all-ranks", "--backend", "cuda", "--device", "gpu", "--max-time", "0.001", "--min-samples", "2",
                     "--problem", SHAPES[0], "--out", out, *words) for given in (of_both, of_both | of_one)]
            self.command(MPIRUN, *rank[0], ":", *rank[1], code=code,
                         env=self.environment(ASSAY_CUDA_TRACE="0", FAKE_GPU_WORK_US="1", **{f"OMPI_{name}": "1" for name in mpi}))
            self.assertIn(found, json.dumps(json.loads(out.read_text())["rows"], separators=(",", ":")))

    def test_a_process_takes_the_gpu_of_its_local_rank(self):
        for local_rank, gpu in (("0", "fake GPU of the tests"), ("1", "fake GPU 1 of the tests"), ("3", "fake GPU 1 of the tests")):
            self.all_ok("--problem", SHAPES[0], count=1, FAKE_GPU_COUNT="2", SLURM_PROCID="0",
                        SLURM_STEP_NUM_TASKS="1", SLURM_LOCALID=local_rank)
            self.assertEqual(self.document["environments"][0]["software"]["libraries"]["cuda"]["gpu"], gpu)

    def energy(self, **variables):
        """The row of half a second of runs, beside a fake NVML. A busy machine may stop the process between its runs."""
        for _ in range(10):
            row = self.all_ok("--problem", SHAPES[0], "--algorithm", "gemm", count=1, LD_PRELOAD=f"{PRELOAD}:{NVML}", FAKE_GPU_WORK_US="-1",
                              limits=("--precision-target", "1e-9", "--max-time", "0.5"), **variables)[0]
            if "done between the runs" not in str(row["energy_reason"]):
                break
        return row

    def test_the_energy_is_that_of_the_gpu_of_the_process(self):
        row = self.energy(FAKE_NVML_WATTS="200", FAKE_GPU_COUNT="2", SLURM_PROCID="0", SLURM_STEP_NUM_TASKS="1", SLURM_LOCALID="1")
        self.assertEqual(list(row["energy_domains_j"]), ["gpu 1"], row["energy_reason"])
        self.assertAlmostEqual(row["energy_j"] / statistics.mean(row["samples_s"]), 200, delta=60)
        # The number is nvidia-smi's, not that among the visible ones.
        self.assertEqual(list(self.energy(FAKE_NVML_FROM="3")["energy_domains_j"]), ["gpu 3"])

    def test_energy_that_nvml_does_not_count_has_its_reason(self):
        row = self.energy(FAKE_NVML_STATUS="3")
        self.assertIsNone(row["energy_j"])
        self.assertEqual(row["energy_reason"], "nvmlDeviceGetTotalEnergyConsumption failed (NVML: fake: not supported)")
        row = self.energy(FAKE_NVML_UPDATE_MS="100")
        self.assertIsNone(row["energy_j"])
        self.assertIn("less than 2 s of runs followed each other", row["energy_reason"])

    def test_int8_is_right_in_its_two_layouts(self):
        rows = self.all_ok("--problem", SHAPES[0], "--precision", "int8", "--layout", "nchw,nhwc,any", count=3)
        self.assertEqual([row["executed"]["layout"] for row in rows], ["nchw_vect_c4", "nhwc", "nhwc"])
        refused = self.rows("--problem", "mb2ic3ih7oc4oh7kh3ph1", "--precision", "int8", "--layout", "nchw", code=6)[0]
        self.assertEqual(refused["status"], "unsupported")
        self.assertIn("vectors of 4 channels", refused["reason"])

    def test_every_algorithm_runs_under_its_name(self):
        for direction, names in (("forward", FORWARD), ("bwd_data", BWD_DATA), ("bwd_weights", BWD_WEIGHTS)):
            rows = self.all_ok("--problem", SHAPES[0], "--direction", direction, "--algorithm", ",".join(names), count=len(names))
            self.assertEqual([row["executed"]["algorithm"] for row in rows], names)
            for row in rows:  # what no kernel name has proved is claimed for exact sums alone
                exact = not any(word in row["executed"]["algorithm"] for word in ("fft", "winograd"))
                self.assertEqual(row["executed"]["evidence"], "numerical" if exact else "requested")
                self.assertEqual(row["executed"]["workspace_bytes"], 4096)
                self.assertEqual(row["verification"]["reference"].count("integer"), 1 if exact else 0)
        other = self.rows("--problem", SHAPES[0], "--direction", "bwd_data", "--algorithm", "implicit_gemm", code=6)[0]
        self.assertEqual(other["status"], "unsupported")
        self.assertIn("cuDNN has no implicit_gemm for bwd_data (it has auto, algo_0", other["reason"])

    def test_auto_asks_the_library_and_goes_on_where_it_says_no(self):
        # The fake offers its last algorithm first.
        self.assertEqual(self.all_ok("--problem", SHAPES[0], count=1)[0]["executed"]["algorithm"], "winograd_nonfused")
        for late in ("FAKE_CUDNN_REFUSES", "FAKE_CUDNN_REFUSES_LATE"):
            row = self.all_ok("--problem", SHAPES[0], count=1, **{late: "winograd_nonfused"})[0]
            self.assertEqual(row["executed"]["algorithm"], "winograd")

    def test_the_library_s_no_is_unsupported_in_its_own_words(self):
        for late, words in (("FAKE_CUDNN_REFUSES", "fake: no fft here"), ("FAKE_CUDNN_REFUSES_LATE", "fake: no fft after all")):
            rows = self.rows("--problem", SHAPES[0], "--algorithm", "fft,gemm", code=0, **{late: "fft"})
            self.assertEqual([row["status"] for row in rows], ["unsupported", "ok"])
            self.assertIn("CUDNN_STATUS_NOT_SUPPORTED", rows[0]["reason"])
            self.assertIn(words, rows[0]["reason"])

    def test_an_error_fails_its_row_alone(self):
        rows = self.rows("--problem", SHAPES[0], "--algorithm", "gemm,direct", code=7, FAKE_CUDNN_FAILS="gemm")
        self.assertEqual([row["status"] for row in rows], ["failed", "ok"])
        for part in ("CUDNN_STATUS_EXECUTION_FAILED", "fake: gemm broke", "gemm (forward)"):
            self.assertIn(part, rows[0]["reason"])

    def test_after_an_error_that_stays_every_row_says_so(self):
        broken = self.folder / "broken"
        broken.touch()
        rows = self.rows("--problem", SHAPES[0], "--algorithm", "gemm,direct,fft", code=7, FAKE_GPU_BREAKS=str(broken))
        self.assertEqual([row["status"] for row in rows], ["failed"] * 3)
        for row in rows:
            self.assertIn("fake: an illegal memory access was encountered", row["reason"])
        for row in rows[1:]:
            self.assertIn("the GPU cannot be used any more in this process", row["reason"])

    def test_too_little_memory_tells_need_and_free(self):
        # Tensors of 2 x 8 x 49 and 2 x 4 x 49 fp32 and a filter, and more workspace than there is.
        rows = self.rows("--problem", SHAPES[0], "--algorithm", "gemm", code=7, FAKE_GPU_BYTES="2000000",
                         FAKE_CUDNN_WORKSPACE="1073741824")
        self.assertEqual([row["status"] for row in rows], ["failed"])
        self.assertRegex(rows[0]["reason"], r"needs 1\.00 GiB on the GPU, 1\.00 GiB of it workspace, but 0\.00 GiB are free")
        # auto leaves such an algorithm out.
        rows = self.rows("--problem", SHAPES[0], code=6, FAKE_GPU_BYTES="2000000", FAKE_CUDNN_WORKSPACE="1073741824")
        self.assertEqual(rows[0]["status"], "unsupported")
        self.assertIn("fits into the memory that is free", rows[0]["reason"])

    def test_no_tensor_crosses_to_or_from_the_gpu_as_a_whole(self):
        # 3,211,264 bytes of fp32 each, but for the weights. Only some elements of outputs and their expected values
        # cross, small tables, and a small tensor by which the kernels are proved.
        limit = {"FAKE_GPU_CROSSES": "2000000"}
        words = ("--problem", "mb16ic16ih56oc16oh56kh1", "--reference-budget", "1e4", "--algorithm", "implicit_gemm,algo_1")
        for direction in ("forward", "bwd_data", "bwd_weights"):
            for layout in ("nchw", "nhwc"):
                rows = self.rows(*words, "--direction", direction, "--layout", layout, code=0, **limit)
                self.assertIn("ok", [row["status"] for row in rows], rows)
                self.assertNotIn("failed", [row["status"] for row in rows], rows)
        # The host makes and reads tensors where our kernels cannot run.
        row = self.rows(*words[:-2], "--algorithm", "gemm", code=7, FAKE_GPU_LAUNCHES="0", **limit)[0]
        self.assertRegex(row["reason"], "copying '.*' (to|from) the GPU")
        self.all_ok(*words[:-2], "--algorithm", "gemm", count=1, FAKE_GPU_LAUNCHES="0")

    def test_a_gpu_that_makes_other_inputs_than_the_host_is_found(self):
        row = self.rows("--problem", SHAPES[0], "--algorithm", "gemm", code=7, FAKE_GPU_LOSES="1")[0]
        self.assertIn("the GPU and the host make different values of fp32", row["reason"])

    def test_cold_rotates_through_more_than_twice_the_l2_cache(self):
        row = self.all_ok("--problem", SHAPES[0], "--cache", "cold", count=1)[0]
        self.assertIn("buffer sets", row["verification"]["reference"])

    def test_arithmetic_is_never_lent(self):
        # Every mode of cuDNN's but FMA_MATH would make an fp32 row tf32, which the fake really computes.
        self.assertEqual(self.rows("--problem", SHAPES[0], "--precision", "fp32", code=0)[0]["status"], "ok")
        for precision, value, status in (("fp32", "1", "unsupported"), ("fp32", "0", "ok"), ("tf32", "0", "unsupported"),
                                         ("tf32", "1", "ok")):
            row = self.rows("--problem", SHAPES[0], "--precision", precision, code=0 if status == "ok" else 6,
                            NVIDIA_TF32_OVERRIDE=value)[0]
            self.assertEqual(row["status"], status, (precision, value, row["reason"]))
            if status == "unsupported":
                self.assertIn("NVIDIA_TF32_OVERRIDE", row["reason"])
        # tf32 computes less exactly than fp32, and is not held to fp32's bound.
        errors = {row["parameters"]["precision"]: row["verification"]["norm_error"]
                  for row in self.rows("--problem", SHAPES[0], "--precision", "fp32,tf32", code=0)}
        self.assertGreater(errors["tf32"], 100 * errors["fp32"])
        row = self.rows("--problem", SHAPES[0], "--precision", "tf32", code=6, FAKE_PROMOTES_TF32="1")[0]
        self.assertIn("silently promoted", row["reason"])
        self.assertIsNone(row["time_s"])

    def test_a_gpu_without_the_arithmetic(self):
        rows = self.rows("--problem", SHAPES[0], "--precision", "tf32,bf16,fp16,fp32", code=0, FAKE_GPU_CAPABILITY="7")
        self.assertEqual([row["status"] for row in rows], ["unsupported", "unsupported", "ok", "ok"])
        self.assertIn("compute capability 7.0, it came with 8.0", rows[0]["reason"])

    def test_what_the_descriptors_cannot_say(self):
        row = self.rows("--problem", "mb1ic4ih7oc4oh8kh3ph1", code=6)[0]  # padded by 1 before and 2 behind
        self.assertEqual(row["status"], "unsupported")
        self.assertIn("pads both sides of a dimension alike (with ph1 it gives oh7, not oh8)", row["reason"])

    def test_a_row_without_a_ceiling_says_which_probe_of_its_gpu_failed(self):
        # No kernel can be launched and cuBLAS finds no driver: the bracket has its rows, each with the reason.
        suite = self.suite([{"benchmark": "conv", "problem": [SHAPES[0]], "precision": ["fp32"], "backend": ["cuda"], "device": ["gpu"],
                             "algorithm": ["direct"], "cache": ["hot", "cold"]}], ceilings=True)
        self.run_suite(suite, code=0, env=self.environment(LD_PRELOAD=PRELOAD, ASSAY_CUDA_TRACE="0", FAKE_GPU_BYTES="300000000",
                                                               FAKE_GPU_LAUNCHES="0"))
        self.check_file()
        result = json.loads((self.out / "result.json").read_text())
        self.assertEqual(len(result["rows"]), 2)
        for row in result["rows"]:
            self.assertEqual(row["status"], "ok", row["reason"])
            self.assertIsNone(row["ceiling"])
            self.assertRegex(row["ceiling_reason"], r"no peak of fp32 \(failed: ")
        for bracket in result["run"]["bracket"]:
            self.assertIsNone(bracket["reason"])
            self.assertEqual({row["problem"]["descriptor"] for row in bracket["rows"]},
                             {"matmul_n8192", "triad_n134217728", "copy_n134217728", "triad_n33554432", "read_n262144", "read_n2097152"})
            for row in bracket["rows"]:
                self.assertIn(row["status"], ("failed", "incorrect"))
                self.assertEqual(row["parameters"]["device"], "gpu")
                self.assertEqual(row["measured_on"], "fake GPU of the tests")
            short = [row["reason"] for row in bracket["rows"] if row["problem"]["descriptor"] == "triad_n134217728"]
            self.assertEqual(len(short), 2, "both kinds of stores")
            self.assertIn("are available", short[0])

    def test_it_is_no_cpu(self):
        out = self.folder / "cpu.json"
        self.command(BIN / "assay-conv", "--backend", "cuda", "--problem", SHAPES[0], "--out", out, code=6,
                     env=self.environment(LD_PRELOAD=PRELOAD))
        self.assertIn("Use --device gpu", json.loads(out.read_text())["rows"][0]["reason"])

    def test_the_environment_names_gpu_and_libraries(self):
        self.all_ok("--problem", SHAPES[0], count=1)
        software = self.document["environments"][0]["software"]["libraries"]["cuda"]
        self.assertEqual(software["gpu"], "fake GPU of the tests")
        for key in ("cuda", "cudnn", "driver", "compute_capability"):
            self.assertRegex(software[key], r"^\d+\.\d+")
        self.assertEqual(software["trace"], "off (ASSAY_CUDA_TRACE=0)")


if __name__ == "__main__":
    main()
