#!/usr/bin/env python3
"""A row that is twice as fast as the machine can be is `failed`, however right its results are; the honest one beside it stands."""
import json
import platform

from run_helper import BIN, BUILD, CONV, SMALL, RunTest, group, main

NATIVE = sorted((BUILD / "lib" / "assay").glob("libassay_native.so"))


class Impossible(RunTest):
    def fast(self, factor):
        """A backend whose clock shows `factor` times less than has passed."""
        return self.environment(ASSAY_FAULT_INNER="native", ASSAY_FAST_CLOCK=str(factor))

    def standalone(self, factor, *more, code, program=CONV, problem=SMALL):
        file = self.folder / "result.json"
        done = self.command(program, "--problem", problem, "--backend", "fastclock", "--threads", 1, "--max-time", 0.02, "--out",
                            file, *more, env=self.fast(factor), code=code)
        self.command(BUILD / "bin" / "assay", "validate", file, code=0)
        return json.loads(file.read_text())["rows"], done

    def setUp(self):
        super().setUp()
        if not NATIVE:
            self.skipTest("the backend native was not built")

    def check_impossible(self, row):
        self.assertEqual(row["status"], "failed", row["reason"])
        self.assertRegex(row["reason"], r"^impossible: .* allows")
        self.assertEqual((row["time_s"], row["samples_s"], row["rates"]), (None, [], {}))

    def test_a_standalone_program_judges_by_a_short_probe(self):
        rows, done = self.standalone(1000, "--precision", "fp32,bf16", code=7)
        self.assertEqual(len(rows), 2)
        for row in rows:
            if row["status"] != "unsupported":
                self.check_impossible(row)
        self.assertIn("impossible", done.stdout)

    def test_a_program_without_operations_is_judged_by_its_bytes(self):
        rows, _ = self.standalone(1000, code=7, program=BIN / "assay-pool", problem="mb4ic64ih56kh2sh2")
        for row in rows:
            self.check_impossible(row)
            self.assertIn("'s L1 allows", row["reason"])

    def test_each_ceiling_is_probed_once(self):
        counts = self.folder / "counts"
        self.command(BIN / "assay-conv", "--problem", f"{SMALL},mb2{SMALL[3:]}", "--backend", "reference", "--precision", "fp32,fp64",
                     "--threads", 1, "--max-time", 0.02, code=0,
                     env=self.environment(ASSAY_PLUGIN_PATH=str(BUILD / "tests" / "plugins-counted"), ASSAY_COUNT_FILE=str(counts)))
        self.assertEqual(sorted(counts.read_text().splitlines()), ["fma fp32 1", "fma fp64 1", "read fp64 1"])

    def test_a_limited_native_bounds_nobody_else(self):
        if platform.machine() != "x86_64":
            self.skipTest("the name is that of an instruction set of x86")
        file = self.folder / "result.json"
        self.command(CONV, "--problem", SMALL, "--backend", "fastclock", "--threads", 1, "--max-time", 0.02, "--out", file,
                     env={**self.fast(1000), "ASSAY_NATIVE_TARGET": "SSE4"}, code=0)

    def test_an_honest_clock_passes(self):
        rows, _ = self.standalone(1, code=0)
        self.assertEqual([row["status"] for row in rows], ["ok"], rows[0]["reason"])

    def test_a_suite_judges_by_its_brackets(self):
        suite = self.suite([group(["auto"], backend="fastclock", precision=["fp32"]),
                            group(["auto"], backend="native", precision=["fp32"])], ceilings=True)
        done = self.run_suite(suite, env=self.fast(1000))
        self.check_file()
        fast, = [row for row in self.rows() if row["parameters"]["backend"] == "fastclock"]
        honest, = [row for row in self.rows() if row["parameters"]["backend"] == "native"]
        self.assertEqual(honest["status"], "ok", honest["reason"])
        probes = [row["time_s"] for bracket in json.loads((self.out / "result.json").read_text())["run"]["bracket"]
                  for row in bracket["rows"] if row["status"] == "ok"]
        if any(max(time["waiting"] or 0, time["stolen"] or 0) > 0.05 for time in probes) and fast["status"] == "ok":
            self.assertTrue(fast["ceiling"]["exceeded"], "a disturbed ceiling judges nothing, but the mark stays")
        else:
            self.check_impossible(fast)
            self.assertEqual(done.returncode, 7, done.stderr)
            self.assertNotIn("fastclock", [row["id"] for row in self.rows() if row["status"] == "ok"])


if __name__ == "__main__":
    main()
