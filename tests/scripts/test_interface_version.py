#!/usr/bin/env python3
"""Changes of the headers that refuse a plugin that was built before (docs/design.md, "Interface versions")."""
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import unittest

from run_helper import ASSAY, BIN, BUILD, CONV, PLUGINS, SOURCE, RunTest, main

PLUGIN = "tests/plugins/versions/backend.cpp"
HEADERS = ("core", "kernels", "support")
REFUSED = "built for interface"


class InterfaceVersion(RunTest):
    def build(self, file, old, new):
        """Builds the plugin against the headers as they were before `old` became `new` in `file` (here: the other way round)."""
        tree, generated = self.folder / "tree", self.folder / "generated"
        for part in HEADERS:
            shutil.copytree(SOURCE / part, tree / part, ignore=lambda folder, names: [
                name for name in names if not name.endswith(".hpp") and not (pathlib.Path(folder) / name).is_dir()])
        text = (tree / file).read_text()
        self.assertIn(old, text, f"{file} has changed: adapt this test")
        (tree / file).write_text(text.replace(old, new, 1))
        for header in (BUILD / "generated" / "assay").glob("**/*.hpp"):
            target = generated / "assay" / header.relative_to(BUILD / "generated" / "assay")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(header, target)
        for headers in (BUILD / "interface").glob("*.txt"):
            name = headers.stem
            listed = self.folder / headers.name
            listed.write_text(headers.read_text().replace(str(SOURCE), str(tree)))
            made = "interface_version.hpp" if name == "interface_version" else f"problem_version/{name}.hpp"
            self.tool("cmake", f"-DLIST={listed}", f"-DROOT={tree}", f"-DNAME={name}", f"-DHEADER={generated / 'assay' / made}",
                      "-P", SOURCE / "cmake" / "write_interface_version.cmake")
        self.compile(tree, generated)
        return {"ASSAY_PLUGIN_PATH": str(self.folder / "plugins")}

    def tool(self, *words):
        done = subprocess.run([str(word) for word in words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, f"{words}\n{done.stdout[-4000:]}")

    def compile(self, tree, generated):
        """It has the flags of another plugin of the tests, not optimised."""
        commands = json.loads((BUILD / "compile_commands.json").read_text())
        known = next(entry for entry in commands if entry["file"].endswith("tests/plugins/weekly/backend.cpp"))
        words = shlex.split(known["command"])
        flags = [word for word in words[1:] if re.match(r"-(std|D|isystem|f(?!lto)|m)", word)]
        systems = [words[place + 1] for place, word in enumerate(words) if word == "-isystem"]
        flags = [flag for flag in flags if flag != "-isystem"] + [part for folder in systems for part in ("-isystem", folder)]
        compiler = next(word for word in words if re.search(r"(\+\+|clang|gcc)[^/]*$", word))
        (self.folder / "plugins").mkdir()
        self.tool(compiler, *flags, "-O0", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{tree}", f"-I{generated}", SOURCE / PLUGIN,
                  "-o", self.folder / "plugins" / "libassay_versions.so", f"-L{BUILD / 'lib'}", "-lassay_core",
                  BUILD / "archive" / "libassay_kernels.a")

    def reason(self, program, problem, environment):
        out = self.folder / f"{program}.json"
        self.command(BIN / program, "--backend", "versions", "--problem", problem, "--out", out, env=self.environment(**environment))
        rows = json.loads(out.read_text())["rows"]
        self.assertEqual([row["status"] for row in rows], ["unsupported"])
        return rows[0]["reason"]

    def listed(self, environment):
        shown = self.command(ASSAY, "list", "backends", env=self.environment(**environment), code=0).stdout
        return next(line for line in shown.splitlines() if line.startswith("versions"))

    def test_a_change_of_the_printed_row_refuses_nothing(self):
        environment = self.build("core/program/print_row.hpp", "void print_row(const Row& row", "void print_the_row(const Row& row")
        self.assertNotIn(REFUSED, self.listed(environment))
        self.assertEqual(self.reason("assay-conv", "mb1ic8ih8oc8oh8kh3ph1", environment), "the plugin sees mb1ic8ih8oc8oh8kh3ph1")

    def test_a_changed_comment_refuses_nothing(self):
        environment = self.build("core/api/operation.hpp", "#pragma once", "#pragma once\n// Another comment.")
        self.assertNotIn(REFUSED, self.listed(environment))

    def test_a_changed_field_of_a_problem_refuses_that_kind_alone(self):
        environment = self.build("kernels/conv/problem.hpp", "struct ConvShape {", "struct ConvShape {\n  int other = 0;")
        self.assertNotIn(REFUSED, self.listed(environment))
        self.assertRegex(self.reason("assay-conv", "mb1ic8ih8oc8oh8kh3ph1", environment),
                         r"versions was built for another version of the problem conv \([0-9a-f]{16}, this is [0-9a-f]{16}\)\. Rebuild it")
        self.assertEqual(self.reason("assay-stream", "triad_n1000", environment), "the plugin sees triad_n1000")

    def test_a_changed_interface_refuses_the_plugin(self):
        environment = self.build("core/api/operation.hpp", "class Operation {", "class Operation {\n  int other = 0;")
        self.assertIn(REFUSED, self.listed(environment))


if __name__ == "__main__":
    main(verbosity=2)
