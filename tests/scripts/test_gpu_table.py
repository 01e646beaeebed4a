#!/usr/bin/env python3
"""scripts/gpu-table measures the ratios of a GPU one by one, each independent of the others, and puts what there is between the marks of a page."""
import argparse
import importlib.machinery
import importlib.util
import json
import shutil
import sys
import tarfile

from page_helper import PageTests
from run_helper import BIN, SOURCE, RunTest, main

sys.path.insert(0, str(SOURCE / "scripts"))
LOADER = importlib.machinery.SourceFileLoader("gpu_table", str(SOURCE / "scripts" / "gpu-table"))
TABLE = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_table", LOADER))
LOADER.exec_module(TABLE)
MEASURED = {"verdict": "met", "value": 1.2345, "interval": [1.2, 1.3], "unit": "s", "card": "NVIDIA H100", "date": "2026-11-28",
            "commit": "0123456789"}


class GpuTable(PageTests, RunTest):
    script, page = "gpu-table", "gpu.md"

    def make(self, page, code=0, words=("--table-only",), **more):
        return self.command(SOURCE / "scripts" / self.script, *words, "--out", self.out, "--page", page, code=code, **more)

    def put(self, name, **line):
        self.out.mkdir(exist_ok=True)
        (self.out / f"{name}.json").write_text(json.dumps({"ratios": [line]}))

    def packed(self, program):
        """A packed build with one program."""
        build = self.folder / "packed"
        for name, text in (("bin/assay-conv", program), ("self_benchmark/evaluate", "exit 1")):
            (build / name).parent.mkdir(parents=True, exist_ok=True)
            (build / name).write_text(f"#!/bin/sh\n{text}\n")
            (build / name).chmod(0o755)
        return build

    def marked(self):
        page = self.folder / "page.md"
        page.write_text("".join(self.marks()))
        return page

    def test_what_there_is_stands_between_the_marks(self):
        self.put("gpu_copy", **MEASURED, peer="PyTorch 2", cudnn="9.19.0", pairs=[[7.2e-4, 6e-4], [7.3e-4, 6e-4], [7.4e-4, 6.1e-4]], note="load 1")
        self.put("gpu_launches", **{**MEASURED, "card": "NVIDIA H200"}, pairs=[[2, 1]])
        self.put("gpu_suite", **{**MEASURED, "verdict": "inconclusive"}, pairs=[[2, 1]], at_least=True)
        self.put("gpu_pca", verdict="unavailable", reason="PyTorch is\nnot | installed")
        self.put("gpu_triad", verdict="failed", reason="broken")
        (self.out / "gpu_null.json").write_text("")  # was stopped
        for text in self.made_twice():
            self.assertRegex(text, "## 3 of [0-9]+ have run: NVIDIA H100/NVIDIA H200, 2026-11-28, commit 0123456789\n")
            for line in ("(`gpu_copy`) | NVIDIA H100 | 730 us | 600 us | 1.23 (1.2 .. 1.3) | >= 1.0 | met | PyTorch 2, cuDNN 9.19.0; load 1 |",
                         "(`gpu_launches`) | NVIDIA H200 | – | – | 1.23 (1.2 .. 1.3) | <= 1.02 | met |  |",
                         "(`gpu_suite`) | NVIDIA H100 | – | – | at least 1.23 (1.2 .. 1.3) | <= 1 | inconclusive |  |",
                         "(`gpu_pca`) |  |  |  |  | >= 1.5 | unavailable: PyTorch is not \\| installed |  |",
                         "(`gpu_triad`) |  |  |  |  | >= 1.0 | failed: broken |  |",
                         "(`gpu_null`) |  |  |  |  | <= 0.05 | has not run |  |"):
                self.assertIn(line, text)

    def test_one_that_fails_takes_nothing_from_the_others(self):
        page = self.marked()
        names = ("gpu_launches", "gpu_hinge")
        self.make(page, 7, ("--build", self.packed("echo no way >&2; exit 7"), *names))
        text = page.read_text()
        self.assertRegex(text, r"`gpu_launches`.* failed: .*assay-conv .* ended with 7: no way")
        self.assertRegex(text, r"`gpu_hinge`.* failed: ")  # there is no assay-stream
        # What has no number is measured again, and what has one is not.
        self.put("gpu_launches", **MEASURED, pairs=[[2, 1]])
        self.put("gpu_hinge", **MEASURED, pairs=[[2, 1]], at_least=True)
        asked = TABLE.measure_all(argparse.Namespace(names=[], out=self.out, seconds=1), TABLE.gpu_ratios())
        self.assertNotIn("gpu_launches", asked)
        self.assertIn("gpu_hinge", asked)
        self.assertEqual(asked[0], "gpu_kernels", "what tells most comes first")

    def test_an_archive_goes_from_one_machine_to_the_next(self):
        archive, build = self.folder / "results.tar.gz", self.packed("exit 7")
        self.put("gpu_launches", **MEASURED, pairs=[[2, 1]])
        (self.out / "rows").mkdir()
        for name in ("gpu_null", "gpu_hinge"):
            page = self.marked()
            self.make(page, 7, ("--archive", archive, "--build", build, name))
            self.assertRegex(page.read_text(), r"`gpu_launches`.* \| met \|")
            shutil.rmtree(self.out)
        with tarfile.open(archive) as file:
            self.assertLessEqual({"./gpu_launches.json", "./gpu_null.json", "./gpu_hinge.json", "./rows"}, set(file.getnames()))
        self.assertEqual([file.name for file in self.folder.glob("results*")], [archive.name])

    def test_without_a_gpu_there_is_a_reason(self):
        page = self.marked()
        build = self.packed(f'exec {BIN}/assay-conv "$@"')
        self.make(page, 5, ("--build", build, "--pairs", 2, "gpu_launches"), env=self.environment(CUDA_VISIBLE_DEVICES=""))
        self.assertRegex(page.read_text(), r"`gpu_launches`.* unavailable: .*cuda")

    def test_one_that_hangs_is_stopped(self):
        self.put("gpu_launches", **MEASURED, pairs=[[2, 1]])
        given = argparse.Namespace(build=self.packed("sleep 1000"), out=self.out, pairs=None)
        TABLE.measure(given, "gpu_launches", TABLE.END_S + 1)
        self.assertEqual(TABLE.result(self.out, "gpu_launches")["value"], 1.2345)
        self.assertEqual(self.make(self.marked(), 5, ("--seconds", 1, "gpu_launches", "gpu_null")).returncode, 5)

    def test_unknown_names_are_refused(self):
        self.assertIn("no ratio is called gpu_nothing", self.make(self.marked(), 2, ("gpu_nothing",)).stderr)


if __name__ == "__main__":
    main()
