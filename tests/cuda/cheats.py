#!/usr/bin/env python3
"""The cheats of tests/plugins on the fake GPU: each is found by the verdict that it gets on the processor."""
import os
import pathlib
import re
import unittest

from run_helper import BIN, RunTest, main

SOURCE = pathlib.Path(os.environ["ASSAY_SOURCE_DIR"])
FAKES = pathlib.Path(os.environ["FAKE_CUDA"])
PRELOAD = ":".join(str(FAKES / os.environ[name]) for name in ("CUDART_SONAME", "CUDNN_SONAME", "CUBLASLT_SONAME", "CUBLAS_SONAME", "CUSOLVER_SONAME"))

# The other folders of tests/plugins, and why a GPU needs no counterpart of them.
OTHERS = {
    "counted": "measures nothing: it counts who asks for a ceiling",
    "fastclock": "a plugin's own clock. A GPU has the driver's alone, by which its ceilings are measured, too",
    "faulty": "faults of a process, or of results that are wrong from the first run on: those of a GPU are the fakes' (FAKE_GPU_…)",
    "faultyranks": "faults of a transport between processes",
    "states": "plugins that cannot be loaded",
    "versions": "is compiled against other versions of the headers",
    "weekly": "a model of a clock for simulated pipelines",
}


def cheats():
    """The names that the backend knows, without what follows a colon."""
    text = (SOURCE / "tests/plugins/cheating/backend.cpp").read_text()
    return set(re.findall(r'cheat_ == "(\w+)', text)) | set(re.findall(r'cheat_\.starts_with\("(\w+)', text))


class Cheats(RunTest):
    def test_each_plugin_has_a_counterpart_or_a_reason(self):
        folders = {path.name for path in (SOURCE / "tests/plugins").iterdir() if path.is_dir()}
        self.assertEqual(folders, {"cheating", *OTHERS})

    def test_each_is_found_on_the_gpu(self):
        self.assertGreater(len(cheats()), 15)
        tried = self.folder / "tried"
        done = self.command(BIN.parent / "tests/test_cheats", env=self.environment(**{
            "LD_PRELOAD": PRELOAD, "FAKE_GPU_WORK_US": "2", "ASSAY_CUDA_TRACE": "0", "ASSAY_CHEAT_INNER": "cuda", "ASSAY_CHEATS_TRIED": str(tried)}))
        self.assertNotIn("SKIPPED", done.stdout)
        self.assertEqual(cheats(), {line.split(":")[0] for line in tried.read_text().split()} - {""})


if __name__ == "__main__":
    main()
