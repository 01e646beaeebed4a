#!/usr/bin/env python3
"""The allocator as a dimension of a suite: preloaded, read back by the process, and never another one in silence."""
import ctypes.util
import json
import os
import socket
import unittest

from run_helper import ASSAY, BIN, CONV, SMALL, RunTest, group, main

LIBRARIES = {"tcmalloc": "tcmalloc_minimal", "jemalloc": "jemalloc"}
MISSING = [name for name, library in LIBRARIES.items() if ctypes.util.find_library(library) is None]


@unittest.skipIf(MISSING, f"{', '.join(MISSING)}: not installed (Debian: libtcmalloc-minimal4 libjemalloc2)")
class Allocators(RunTest):
    def all(self):
        return self.suite([group(["direct"], backend="reference", direction=["forward"], allocator=["system", *LIBRARIES])])

    def by_allocator(self):
        return {row["parameters"]["allocator"]: row for row in self.rows()}

    def environment_of(self, row):
        return json.loads((self.out / "result.json").read_text())["environments"][row["environment"]]

    def one(self, allocator, **env):
        return self.command(CONV, "--problem", SMALL, "--backend", "reference", "--algorithm", "direct", "--direction", "forward", "--threads", 1,
                            "--max-time", 0.02, "--allocator", allocator, env=self.environment(**env))

    def fake_env(self, script):
        """PATH with an `env` of our own, by which `assay run` preloads."""
        folder = self.folder / "bin"
        folder.mkdir()
        (folder / "env").write_text(f"#!/bin/sh\n{script}\n")
        (folder / "env").chmod(0o755)
        return self.environment(PATH=f"{folder}:{os.environ['PATH']}")

    def test_a_suite_varies_it(self):
        self.run_suite(self.all(), "--launches", 2, code=0)
        self.expect_ok(self.rows(), 6)
        found = self.by_allocator()
        self.assertEqual(set(found), {"system", *LIBRARIES})
        for name, row in found.items():
            loaded = self.environment_of(row)["software"]["libraries"]["allocator"]
            self.assertEqual(loaded["name"], name)
            self.assertIn("libc" if name == "system" else f"lib{LIBRARIES[name]}.so", loaded["file"])
            self.assertEqual(row["id"].endswith(f"/allocator={name}"), name != "system")
        self.check_file()
        # The same of one that does not say what was loaded.
        result = json.loads((self.out / "result.json").read_text())
        for environment in result["environments"]:
            environment["software"]["libraries"]["allocator"] = {"name": "system", "file": "libc.so.6"}
        (self.out / "result.json").write_text(json.dumps(result))
        said = self.command(ASSAY, "validate", self.out / "result.json", code=2).stderr
        self.assertIn("/parameters/allocator: found \"", said)

    def test_a_run_is_of_one_and_is_resumed_so(self):
        self.run_suite(self.suite([group(["direct"], backend="reference", direction=["forward"])]), "--allocator", "jemalloc", code=0)
        self.run_suite(self.folder / "test.json", "--resume", "--launches", 2, code=0)
        self.expect_ok(self.rows(), 2)
        self.assertEqual({row["parameters"]["allocator"] for row in self.rows()}, {"jemalloc"})
        said = self.run_suite(self.folder / "test.json", "--allocator", "tcmaloc", code=2).stderr
        self.assertIn("Did you mean 'tcmalloc'?", said)

    def test_ranks_of_a_launcher_have_it(self):
        collective = {"benchmark": "collectives", "bytes": [1024], "transport": ["mpi"], "algorithm": ["ring"], "allocator": list(LIBRARIES)}
        self.run_suite(self.suite([collective]), "--launcher", "mpirun", "--nodes", 1, "--ranks-per-node", 2, "--bind", "none", code=0)
        self.expect_ok(self.rows(), 2)

    def test_where_it_is_not_found_the_cases_say_how_to_get_it(self):
        # ld.so does so if there is no such library: it complains, and goes on without.
        env = self.fake_env('case "$1" in LD_PRELOAD=libjemalloc*) echo "ERROR: ld.so: ${1#LD_PRELOAD=} cannot be preloaded" >&2; shift ;; esac\n'
                            'exec /usr/bin/env "$@"')
        self.run_suite(self.all(), env=env, code=0)
        found = self.by_allocator()
        self.assertEqual({name: row["status"] for name, row in found.items()},
                         {"system": "ok", "tcmalloc": "ok", "jemalloc": "unsupported"})
        self.assertIn("libjemalloc2 of Debian", found["jemalloc"]["reason"])

    def test_one_that_was_lost_on_the_way_is_no_number(self):
        env = self.fake_env('case "$1" in LD_PRELOAD=*) shift ;; esac\nexec /usr/bin/env "$@"')
        self.run_suite(self.all(), env=env, code=0)
        found = self.by_allocator()
        self.assertEqual({name: row["status"] for name, row in found.items()},
                         {"system": "ok", "tcmalloc": "unsupported", "jemalloc": "unsupported"})

    def test_a_process_that_has_another_one_fails(self):
        done = self.one("tcmalloc", LD_PRELOAD="/gone/libtcmalloc.so.4")
        self.assertEqual(done.returncode, 7)
        self.assertIn("LD_PRELOAD asks for tcmalloc", done.stdout)
        done = self.one("system", LD_PRELOAD="libjemalloc.so.2")
        self.assertEqual(done.returncode, 7)
        self.assertIn("this process has the allocator jemalloc", done.stdout)

    def test_another_one_of_a_single_rank_fails_on_all(self):
        # Else the other rank would go on, and wait for it.
        words = [BIN / "assay-resnet50", "--problem", "d18w4s32c5", "--batch", 4, "--threads", 1, "--steps", 1]
        done = self.command("timeout", 100, "mpirun", "-n", 1, *words, ":", "-n", 1, "env", "LD_PRELOAD=libjemalloc.so.2", *words, code=7,
                            env=self.environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                                                 OMPI_MCA_rmaps_base_oversubscribe="1"))
        self.assertIn(f"rank 1 on {socket.gethostname()}: this process has the allocator jemalloc", done.stdout)


if __name__ == "__main__":
    main(verbosity=2)
