#!/usr/bin/env python3
"""The repeat command of a row (assay table --columns repeat; the page has the same): run as printed, it gives the same case."""
import json
import os
import shlex

from run_helper import ASSAY, BIN, SMALL, RunTest, group, main

SETTINGS = {"OMP_PROC_BIND": "true", "OMP_PLACES": "{0}:1", "ONEDNN_MAX_CPU_ISA": "AVX2", "OMP_NUM_THREADS": "1"}
# A small case of each program that reads no file.
CASES = {"conv": ["--problem", SMALL, "--backend", "native", "--layout", "nhwc"],
         "gemm": ["--problem", "m8n8k8", "--backend", "reference"],
         "rnn": ["--problem", "lstm:8-2-3", "--backend", "reference"],
         "norm": ["--problem", "mb2ic4ih4", "--backend", "reference"],
         "pool": ["--problem", "mb1ic4ih8kh2sh2", "--backend", "reference"],
         "concat": ["--problem", "mb1ca4cb4ih8", "--backend", "reference"],
         "resize": ["--problem", "mb1ic4ih4oh8", "--backend", "reference"],
         "activation": ["--problem", "mb2ic4ih4", "--function", "gelu", "--backend", "reference"],
         "dropout": ["--problem", "mb2ic4ih4p0.2k3", "--backend", "reference"],
         "update": ["--problem", "larc-adam_n1000t3m0.8", "--backend", "reference"],
         "loss": ["--problem", "mb4c10nobias", "--backend", "reference"],
         "pixel-loss": ["--problem", "mb1c3ih8", "--direction", "validation", "--backend", "reference"],
         "squared-error": ["--problem", "mb4f10", "--precision", "bf16", "--backend", "reference"],
         "sum": ["--problem", "in_place_n1000", "--backend", "reference"],
         "convert": ["--problem", "n1000", "--precision", "fp16_fp32"],
         "stream": ["--problem", "triad_n1000"], "copy": ["--problem", "64K", "--copied-by", "from", "--threads", "1"],
         "linalg": ["--problem", "syrk:n100d4", "--backend", "reference"],
         "pca": ["--problem", "n1001d7"], "kmeans": ["--problem", "n1001d7"], "svm": ["--problem", "n1001d7"],
         "collectives": ["--collective", "allreduce", "--bytes", "4096"], "io": ["--problem", "mb1", "--operation", "write"],
         "input": ["--problem", "n8mb4s16", "--data", "generated:n8w32h24"],
         "resnet50": ["--problem", "d18w8s32c5", "--batch", "2", "--backend", "native"]}
TIMING = ["--max-time", "0.03", "--precision-target", "0.5", "--min-samples", "11", "--reference-budget", "3e6", "--seed", "7"]


class Repeat(RunTest):
    def repeated(self, file, path=BIN):
        """(id, command) of each row, from the table."""
        text = self.command(ASSAY, "table", file, "--columns", "id,repeat", code=0).stdout
        rows = [line.split(None, 1) for line in text.splitlines() if " assay-" in line]
        self.assertTrue(rows, text)
        return rows

    def run_as_printed(self, command, out):
        """The environment lacks the settings."""
        env = {name: value for name, value in self.environment().items() if name not in SETTINGS and not name.startswith("OMP_")}
        env["PATH"] = f"{BIN}:{env['PATH']}"
        self.command("bash", "-c", f"{command} --out {shlex.quote(str(out))}", env=env, code=0)
        return json.loads(out.read_text())

    def expect_same(self, first, again, identity):
        def of(result):
            return [row for row in result["rows"] if row["id"] == identity]

        self.assertEqual({row["status"] for row in of(again)}, {"ok"})
        self.assertEqual(len(of(again)), len(of(first)), "launches")
        self.assertEqual(len(again["rows"]), len(of(again)), "no other case")
        for field in ("parameters", "problem", "id_form"):
            self.assertEqual(of(again)[0][field], of(first)[0][field])
        for field in ("seed", "max_time", "precision_target", "min_samples", "reference_budget"):
            self.assertEqual(again["run"].get(field), first["run"].get(field), field)
        self.assertEqual(again["environments"][0]["software"]["switches"], first["environments"][0]["software"]["switches"])

    def test_of_every_program(self):
        env = self.environment(**SETTINGS)
        for name, words in CASES.items():
            with self.subTest(name):
                file = self.folder / f"{name}.json"
                self.command(BIN / f"assay-{name}", *words, *TIMING, "--launches", 2, "--out", file, env=env, code=0)
                first = json.loads(file.read_text())
                self.assertEqual(first["run"]["max_time"], 0.03)
                identity, command = self.repeated(file)[0]
                for part in ("env ", "OMP_PLACES={0}:1", "ONEDNN_MAX_CPU_ISA=AVX2", "--launches 2", "--seed 7"):
                    self.assertIn(part, command)
                self.expect_same(first, self.run_as_printed(command, self.folder / f"{name}-again.json"), identity)

    def test_of_a_run_of_a_suite(self):
        suite = self.suite([group(["direct"], [SMALL, SMALL.replace("mb1", "mb2")], backend="reference")],
                           timing={"max_time": 0.02, "min_samples": 12})
        self.run_suite(suite, "--launches", 2, "--seed", 5, env=self.environment(**SETTINGS), code=0)
        first = json.loads((self.out / "result.json").read_text())
        rows = self.repeated(self.out)
        self.assertEqual(len(rows), 2)
        for i, (identity, command) in enumerate(rows):
            again = self.run_as_printed(command, self.folder / f"again{i}.json")
            of = [row for row in first["rows"] if row["id"] == identity]
            self.assertEqual([row["id"] for row in again["rows"]], [identity] * 2)
            self.assertEqual(again["rows"][0]["parameters"], of[0]["parameters"])
            self.assertEqual((again["run"]["seed"], again["run"]["max_time"], again["run"]["min_samples"]), (5, 0.02, 12))

    def test_without_settings_there_are_no_words_for_them(self):
        file = self.folder / "plain.json"
        env = {name: value for name, value in self.environment().items() if name not in SETTINGS and not name.startswith("OMP_")}
        self.command(BIN / "assay-conv", "--problem", SMALL, "--backend", "reference", "--out", file, env=env, code=0)
        first = json.loads(file.read_text())
        self.assertNotIn("max_time", first["run"], "it is the usual one")
        command = self.repeated(file)[0][1]
        for part in ("--max-time", "--launches", "OMP_"):
            self.assertNotIn(part, command)


if __name__ == "__main__":
    main()
