#!/usr/bin/env python3
"""A backend that a run could open and then lost: its cases fail (7), and --resume repeats them."""
import os
import shutil

from run_helper import BUILD, SMALL, RunTest, group, main

# A launcher that takes the plugin away behind the process of the first launch.
WRAPPER = """#!/bin/bash
{more}"$@"
code=$?
case " $* " in *" --launch 0 "*) rm -f {file}; : > {file};; esac
exit $code
"""


class LostPlugin(RunTest):
    def setUp(self):
        super().setUp()
        self.plugins = self.folder / "plugins"
        self.plugins.mkdir()
        self.file = self.plugins / "libassay_reference.so"
        self.install()
        self.wrapper = self.folder / "wrapper"
        self.write_wrapper()

    def write_wrapper(self, more=""):
        self.wrapper.write_text(WRAPPER.format(file=self.file, more=more))
        self.wrapper.chmod(0o755)

    def install(self):
        self.file.unlink(missing_ok=True)
        shutil.copy(os.path.realpath(BUILD / "lib" / "assay" / "libassay_reference.so"), self.file)

    def run_it(self, suite, *words, code):
        return self.run_suite(suite, *words, env=self.environment(ASSAY_PLUGIN_PATH=str(self.plugins)), code=code)

    def statuses(self):
        return sorted((row["launch"], row["parameters"]["backend"], row["attempt"], row["status"]) for row in self.rows())

    def test_lost_between_launches(self):
        suite = self.suite([group(["auto"], backend="reference")], launches=2)
        self.run_it(suite, "--launcher", self.wrapper, code=7)
        self.assertEqual(self.statuses(), [(0, "reference", 0, "ok"), (1, "reference", 0, "failed")])
        reason = next(row["reason"] for row in self.rows() if row["status"] == "failed")
        self.assertIn("reference was lost during the run", reason)
        self.assertIn("--resume", reason)
        self.check_file()
        self.install()
        self.run_it(suite, "--launcher", self.wrapper, "--resume", code=0)
        self.assertEqual(self.statuses()[-1][2:], (1, "ok"))
        self.check_file()

    def test_unsupported_in_one_launch_is_lost(self):
        self.write_wrapper('line=" $* "\nset -- ${line/ --opened reference/}\n')  # nobody knows what could be opened
        suite = self.suite([group(["auto"], backend="reference")], launches=2)
        self.run_it(suite, "--launcher", self.wrapper, code=6)
        self.assertEqual(self.statuses(), [(0, "reference", 0, "ok"), (1, "reference", 0, "unsupported")])
        self.install()
        self.run_it(suite, "--launcher", self.wrapper, "--resume", code=0)
        self.assertEqual(self.statuses()[-1][2:], (1, "ok"))
        self.check_file()

    def test_never_there_is_unsupported(self):
        self.file.write_bytes(b"")
        suite = self.suite([group(["auto"], backend="reference"), group(["auto"], backend="native")], launches=2)
        self.run_it(suite, code=0)
        self.assertEqual({status[1:] for status in self.statuses()}, {("native", 0, "ok"), ("reference", 0, "unsupported")})


if __name__ == "__main__":
    main()
