#!/usr/bin/env python3
"""A backend that is written, built and measured with an installed tree alone: `assay new backend`, find_package(Assay)."""
import json
import re
import shlex
import shutil

from installed_helper import InstalledTest
from run_helper import BUILD, SOURCE, main

# The kinds of templates: where a result is written, and the same with its first element off by one.
WRONG = {"gemm": ("float sum = 0,", "float sum = i + j == 0,"), "conv": ("[at] = 0;", "[at] = at == 0;")}


class Plugin(InstalledTest):
    @classmethod
    def setUpClass(cls):
        cls.install()
        cls.kinds = sorted(file.stem for file in (cls.prefix / "share/assay/scripts/templates/backend").glob("*.cpp"))

    def made(self, kind, name="mine"):
        return self.commands_of(self.new_backend(name, "--kind", kind).stdout)[:2]

    def row(self, measure, code=0):
        """The row that the second command measures."""
        out = self.folder / "row.json"
        out.unlink(missing_ok=True)
        done = self.shell(f"{measure} --max-time 0.05 --out {shlex.quote(str(out))}", code=code)
        (row,) = json.loads(out.read_text())["rows"]
        return row, done

    def test_every_template_is_built_and_verified_without_the_source_tree(self):
        self.assertLessEqual({"gemm", "conv"}, set(self.kinds))
        self.assertEqual(set(WRONG), set(self.kinds), "a template without a wrong variant of it")
        for kind in self.kinds:
            with self.subTest(kind):
                build, measure = self.made(kind, f"my_{kind}")
                folder = self.folder / f"my_{kind}"
                self.assertEqual(sorted(file.name for file in folder.iterdir()), ["CMakeLists.txt", f"{kind}.cpp"])
                source = (folder / f"{kind}.cpp").read_text()
                self.assertLessEqual(len(source.splitlines()), 40)
                self.assertNotIn("example", source)
                self.shell(build)
                row, _ = self.row(measure)
                self.assertEqual((row["status"], row["verification"]["passed"], row["parameters"]["backend"]), ("ok", True, f"my_{kind}"))
                self.assertGreater(row["rates"]["flops_per_s"], 0)
                for dependencies in folder.rglob("*.d"):
                    self.assertNotIn(str(SOURCE) + "/core", dependencies.read_text())
                    self.assertNotIn(str(BUILD), dependencies.read_text())
                    self.assertIn("include/assay/core/api/backend.hpp", dependencies.read_text())
                    dependencies.unlink()
                self.assertNotIn(str(SOURCE), (folder / "build" / "CMakeCache.txt").read_text())
                right, wrong = WRONG[kind]
                self.assertEqual(source.count(right), 1)
                (folder / f"{kind}.cpp").write_text(source.replace(right, wrong))
                self.shell(build)
                row, done = self.row(measure, code=3)
                self.assertEqual(row["status"], "incorrect", row)
                self.assertNotIn("FLOP/s", done.stdout)

    def test_a_plugin_of_another_interface_is_refused_by_name(self):
        build, measure = self.made("gemm")
        other = self.folder / "other/assay"
        versions = {"interface_version.hpp": ("core", "mine +unavailable +built for interface 0123456789abcdef, this is "),
                    "problem_version/gemm.hpp": ("gemm", "mine was built for another version of the problem gemm .0123456789abcdef, this is ")}
        for header, (kind, message) in versions.items():
            with self.subTest(header):
                shutil.rmtree(self.folder / "mine/build", ignore_errors=True)
                shutil.rmtree(other, ignore_errors=True)
                text = (self.prefix / "include/assay/assay" / header).read_text()
                (other / header).parent.mkdir(parents=True)
                (other / header).write_text(re.sub('"[0-9a-f]{16}"', '"0123456789abcdef"', text))
                self.shell(build, CXXFLAGS=f"-I{other.parent}")
                if kind == "core":
                    shown = self.shell(f"ASSAY_PLUGIN_PATH=mine/build/lib/assay {self.program('assay')} list backends").stdout
                    self.assertRegex(shown, f"(?m)^{message}")
                row, _ = self.row(measure, code=6)
                self.assertEqual(row["status"], "unsupported")
                self.assertRegex(row["reason"], "built for interface 0123456789abcdef" if kind == "core" else message)

    def test_bad_names_are_refused_with_the_reason(self):
        for name, reason in {"Mine": "small letters", "1st": "begin", "a/b": "small letters", "../up": "small letters", "a b": "small letters",
                             "core": "taken", "onednn": "taken", "cuda": "taken", "auto": "taken", "x" * 200: "longer"}.items():
            with self.subTest(name):
                done = self.new_backend(name, code=2)
                self.assertIn(name[:40], done.stderr)
                self.assertIn(reason, done.stderr)
        self.new_backend("", code=2)
        self.assertEqual(list(self.folder.iterdir()), [])
        self.assertIn("Did you mean 'gemm'", self.new_backend("mine", "--kind", "gem", code=2).stderr)
        self.assertIn("backend", self.command(self.prefix / "bin/assay", "new", "backed", "mine", cwd=self.folder, code=2).stderr)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_nothing_is_overwritten(self):
        self.new_backend("mine")
        files = {file: file.read_text() for file in (self.folder / "mine").iterdir()}
        for file in files:
            file.write_text("my work")
        self.assertIn("mine: exists", self.new_backend("mine", "--kind", "conv", code=2).stderr)
        self.assertEqual([file.read_text() for file in (self.folder / "mine").iterdir()], ["my work"] * len(files))
        (self.folder / "empty").mkdir()
        (self.folder / "link").symlink_to("nowhere")
        for name in ("empty", "link"):
            self.assertIn("exists", self.new_backend(name, code=2).stderr)
        self.assertEqual(list((self.folder / "empty").iterdir()), [])

    def test_what_is_installed_is_what_a_plugin_may_include(self):
        self.assertNotIn("Warning", self.said)
        include = self.prefix / "include/assay"
        headers = sorted(str(file.relative_to(include)) for file in include.rglob("*") if file.is_file())
        self.assertEqual([header for header in headers if not header.endswith(".hpp")], [])
        self.assertEqual({header.split("/")[1] for header in headers if header.startswith("core/")}, {"base", "machine", "api"})
        kinds = {file.parent.name for file in SOURCE.glob("kernels/*/problem.hpp")}
        self.assertEqual({header.split("/")[1] for header in headers if header.startswith("kernels/")}, kinds)
        # All of them at once: none includes what is not there.
        everything = self.folder / "everything.cpp"
        everything.write_text("".join(f'#include "{header}"\n' for header in headers))
        found = re.search(r"(?m)^Random123_INCLUDE_DIR:PATH=(.*)$", (BUILD / "CMakeCache.txt").read_text()).group(1)
        done = self.command("c++", "-std=c++20", "-fopenmp", "-fsyntax-only", "-I", include, "-idirafter", found, everything)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    main(verbosity=2)
