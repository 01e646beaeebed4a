#!/usr/bin/env python3
"""Libraries that end the process under a limit of memory are recognised before they are opened."""
import json
import os
import resource
import shutil
import subprocess

from run_helper import BIN, RunTest, main

COMPILER = shutil.which(os.environ.get("CC", "cc"))


class LimitedMemory(RunTest):
    def row(self, library, limit, code):
        file = self.folder / "result.json"
        self.command(BIN / "assay-gemm", "--problem", "m8n8k8", "--backend", "blas", "--blas", library, "--threads", 1,
                     "--max-time", 0.01, "--out", file, code=code,
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        return json.loads(file.read_text())["rows"][0]

    def test_a_library_that_ends_the_process(self):
        if COMPILER is None:
            self.skipTest("no C compiler")
        source, library = self.folder / "end.c", self.folder / "libend.so"
        # As OpenBLAS and libgomp do: only under the limit.
        source.write_text("#include <sys/resource.h>\n#include <unistd.h>\n"
                          "__attribute__((constructor)) static void start(void) {\n"
                          "  struct rlimit limit;\n"
                          "  getrlimit(RLIMIT_AS, &limit);\n"
                          "  if (limit.rlim_cur != RLIM_INFINITY) _exit(3);\n}\n")
        subprocess.run([COMPILER, "-shared", "-fPIC", "-o", library, source], check=True)
        row = self.row(library, 1 << 36, code=6)  # no row was measured
        self.assertEqual(row["status"], "unsupported")
        self.assertIn("exit code 3 under the limit of memory", row["reason"])
        self.assertIn(str(library), row["reason"])
        self.assertNotIn("memory", self.row(library, resource.RLIM_INFINITY, code=6)["reason"])


if __name__ == "__main__":
    main()
