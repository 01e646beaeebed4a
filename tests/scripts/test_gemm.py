#!/usr/bin/env python3
"""assay-gemm at the command line: faults in every precision, bad input, and CBLAS libraries named at run time."""
import json
import re

from run_helper import ASSAY, BIN, BUILD, RunTest, main

GEMM = BIN / "assay-gemm"
PRECISIONS = "fp64,fp32,bf16,fp16,int8,bf16_fp32,fp16_fp32,fp8_e4m3,fp8_e5m2"
LIBRARIES = BUILD / "tests" / "cblas"


class GemmTest(RunTest):
    def gemm(self, *words, threads=1, code=None, **more):
        file = self.folder / "result.json"
        file.unlink(missing_ok=True)
        self.command(GEMM, "--threads", threads, "--max-time", "0.01", "--out", file, *words, env=self.environment(**more), code=code)
        self.result = json.loads(file.read_text())
        return self.result["rows"]


class Faults(GemmTest):
    def faulty(self, problem, precision, fault, **more):
        return self.gemm("--backend", "faulty", "--problem", problem, "--precision", precision, "--algorithm", fault,
                         ASSAY_FAULT_ALGORITHM="auto", **more)

    def test_wrong_elements_are_found_in_every_precision(self):
        # Written, and written in place; padded, too.
        for problem in ("m20n30k40", "m20n30k40ldc23beta1ta"):
            for fault in ("wrong_element", "wrong_element_late", "nan", "inf"):
                for row in self.faulty(problem, PRECISIONS, fault, ASSAY_FAULT_SIZE="1"):
                    if fault in ("nan", "inf") and row["parameters"]["precision"] == "int8":
                        continue  # integers have none
                    with self.subTest(row["id"], fault=fault):
                        self.assertEqual(row["status"], "incorrect", row["reason"])
                        self.assertIsNone(row["time_s"])

    def test_rounded_inputs_are_found(self):
        rows = self.faulty("m20n30k40,m20n30k400beta1", "fp64,fp32,fp16,fp16_fp32", "wrong_precision")
        self.assertEqual({row["status"] for row in rows}, {"incorrect"})

    def test_integers_that_overflow_are_not_called_unwritten_alone(self):
        (row,) = self.gemm("--backend", "reference", "--precision", "int8", "--problem", "m20n30k40alpha100000000", code=3)
        self.assertEqual(row["status"], "incorrect")
        self.assertIn("overflowed or were not written", row["reason"])

    def test_without_a_fault_all_is_right(self):
        rows = self.faulty("m20n30k40,m20n30k40ldc23beta1ta", PRECISIONS, "auto")
        self.expect_ok(rows, 18)


class BadInput(GemmTest):
    def test_the_field_is_named(self):
        for problem, field in (("m4n4k4lda3", "lda"), ("m4n4k4ldb3", "ldb"), ("m4n4k4ldc3", "ldc"), ("m-4n4k4", "m is negative"),
                               ("m4n4k4b-1", "b is negative"), ("m4294967296n4294967296k4", "operations does not fit 64 bits"),
                               ("m4n4k4lda4611686018427387904", "A in bytes"), ("4x5:6x7", "k is 5"), ("m4n4", "k is missing"),
                               ("m4n4k4alpha0", "alpha is 0"), ("deepbench-trian", "deepbench-train")):
            done = self.command(GEMM, "--backend", "reference", "--problem", problem, code=2)
            self.assertIn(field, done.stderr)
            self.assertEqual(done.stdout, "")

    def test_convolution_and_stream_refuse_mixed_precisions(self):
        for words in (("assay-conv", "--backend", "reference", "--problem", "mb1ic8ih8oc8oh8kh3ph1"),
                      ("assay-stream", "--backend", "native", "--problem", "fma_n64")):
            done = self.command(BIN / words[0], *words[1:], "--precision", "bf16_fp32", "--max-time", "0.01")
            self.assertIn("unsupported: ", done.stdout)
            self.assertIn("Use bf16.", done.stdout)


class Blas(GemmTest):
    def environment(self, **more):
        environment = super().environment(**more)
        environment.pop("ASSAY_PLUGIN_PATH")
        return environment

    def blas(self, library, *words, **more):
        return self.gemm("--backend", "blas", "--blas", library, "--problem", "m20n30k40b2ldc23beta1ta", *words, **more)

    def refused(self, rows, *parts):
        self.assertEqual({row["status"] for row in rows}, {"unsupported"})
        for part in parts:
            self.assertIn(part, rows[0]["reason"])

    def test_an_absent_library_has_the_loaders_words(self):
        self.refused(self.blas("libabsent-blas.so.0", code=6), "unavailable", "libabsent-blas.so.0: cannot open shared object file")
        self.assertIn("libabsent-blas.so.0", self.result["environments"][0]["software"]["libraries"]["blas"]["reason"])

    def test_a_missing_symbol_has_the_loaders_words(self):
        self.refused(self.blas("libm.so.6", code=6), "unavailable", "undefined symbol: cblas_sgemm")
        self.refused(self.blas(LIBRARIES / "libcblas_lp64.so", "--precision", "fp64", code=6), "undefined symbol: cblas_dgemm")
        self.refused(self.blas(LIBRARIES / "libcblas_lp64.so", "--precision", "bf16_fp32", code=6), "undefined symbol: cblas_sbgemm")

    def test_the_width_of_integers_and_the_suffix_are_detected(self):
        for name, integers in (("lp64", "LP64"), ("ilp64", "ILP64"), ("suffix", "ILP64")):
            library = LIBRARIES / f"libcblas_{name}.so"
            rows = self.expect_ok(self.blas(library), 1)
            software = self.result["environments"][0]["software"]["libraries"]["blas"]
            self.assertEqual(software["integers"], integers)
            self.assertEqual(software["library"], str(library))
            self.assertIn("OpenBLAS of a test", software["version"])
            self.assertIn("OpenBLAS of a test", rows[0]["executed"]["implementation"])
            self.assertTrue(rows[0]["id"].endswith(f"/blas={library}"))
            self.assertEqual(rows[0]["parameters"]["blas"], str(library))

    def test_each_vendor_s_functions_tell_the_version_and_set_the_threads(self):
        for name, integers, version in (("lp64", "LP64", "OpenBLAS of a test"), ("suffix", "ILP64", "OpenBLAS of a test"),
                                        ("blis", "LP64", "BLIS of a test, arch of a test"), ("mkl", "ILP64", "MKL of a test"),
                                        ("nvpl", "LP64", str(LIBRARIES / "libcblas_nvpl.so"))):
            with self.subTest(name):
                library = LIBRARIES / f"libcblas_{name}.so"
                self.expect_ok(self.blas(library, threads=2, FAKE_CBLAS_THREADS="2"), 1)
                software = self.result["environments"][0]["software"]["libraries"]["blas"]
                self.assertEqual((software["integers"], software["version"]), (integers, version))
                rows = self.blas(library, threads=2, FAKE_CBLAS_THREADS="3")
                self.assertEqual([row["status"] for row in rows], ["incorrect"])

    def test_a_library_of_one_thread_is_not_measured_as_of_two(self):
        # It has no function that sets the number of threads, and does not use OpenMP.
        library = LIBRARIES / "libcblas_plain.so"
        self.refused(self.blas(library, threads=2, code=6), "libcblas_plain.so computes with one thread", "Use --threads 1")
        row = self.expect_ok(self.blas(library), 1)[0]
        self.assertIn(str(library), row["executed"]["implementation"])

    def test_mixed_products_are_called_by_their_name(self):
        row = self.expect_ok(self.blas(LIBRARIES / "libcblas_lp64.so", "--precision", "fp16_fp32"), 1)[0]
        self.assertIn("cblas_shgemm", row["executed"]["implementation"])

    def test_extents_beyond_32_bits_need_wide_integers(self):
        problem = ("--backend", "blas", "--problem", "m1n1k1lda2147483648")
        self.refused(self.gemm(*problem, "--blas", LIBRARIES / "libcblas_lp64.so", code=6), "lda is 2147483648", "32-bit integers")

    def test_a_wrong_library_is_incorrect(self):
        rows = self.blas(LIBRARIES / "libcblas_wrong.so")
        self.assertEqual([row["status"] for row in rows], ["incorrect"])

    def test_a_process_uses_one_library(self):
        rows = self.gemm("--backend", "blas", "--problem", "m4n4k4", "--blas", LIBRARIES / "libcblas_lp64.so", "--blas",
                         LIBRARIES / "libcblas_ilp64.so")
        self.assertEqual([row["status"] for row in rows], ["ok", "unsupported"])
        self.assertIn("one CBLAS library a process", rows[1]["reason"])
        self.assertIn("`assay run` starts a process for each", rows[1]["reason"])

    def test_a_run_measures_several_libraries_and_a_table_sets_them_side_by_side(self):
        libraries = [str(LIBRARIES / f"libcblas_{name}.so") for name in ("lp64", "ilp64")]
        suite = self.suite([{"benchmark": "gemm", "problem": ["m20n30k40"], "backend": ["blas"], "blas": libraries, "threads": [1]}])
        self.run_suite(suite, "--launches", 2, code=0)
        rows = self.expect_ok(self.rows(), 4)
        self.assertEqual({row["parameters"]["blas"] for row in rows}, set(libraries))
        environments = json.loads((self.out / "result.json").read_text())["environments"]
        for row in rows:
            self.assertEqual(environments[row["environment"]]["software"]["libraries"]["blas"]["library"], row["parameters"]["blas"])
        table = self.command(ASSAY, "table", self.out / "result.json", "--by", "blas", "--format", "markdown", code=0).stdout
        lines = [line for line in table.splitlines() if line.startswith("| m20n30k40")]
        self.assertEqual(len(lines), 1, table)
        self.assertEqual(len(re.findall(r"\d (?:ns|µs|ms|s)\b", lines[0])), 2, table)

    def test_other_backends_do_not_name_it(self):
        problem, library = ("--problem", "m4n4k4"), ("--blas", "libabsent.so")
        refused = self.command(GEMM, "--list", "--backend", "reference", *problem, *library, code=2)
        self.assertIn("--blas libabsent.so has no use here", refused.stderr)
        listed = self.command(GEMM, "--list", "--backend", "reference,blas", "--threads", "1", *problem, *library, code=0)
        self.assertEqual(listed.stdout.split(), ["gemm/fp32/reference/auto/m4n4k4/hot/t1", "gemm/fp32/blas/auto/m4n4k4/hot/t1/blas=libabsent.so"])


if __name__ == "__main__":
    main()
