#!/usr/bin/env python3
# full: needs Environment Modules
"""scripts/packaging: the environment module works on an installed tree; the Spack package and the Apptainer recipe name what is there.

Neither Spack nor Apptainer runs here, which the heads of their files say."""
import ast
import re
import shutil

from run_helper import BUILD, SOURCE, RunTest, main

PACKAGING = SOURCE / "scripts" / "packaging"


class Module(RunTest):
    def setUp(self):
        super().setUp()
        self.prefix = self.folder / "assay"
        self.command("cmake", "--install", BUILD, "--prefix", self.prefix, code=0)

    def module(self, *words, code=0, **more):
        """`module` in a fresh shell, then a command."""
        found = [place for place in ("/usr/share/modules/init/bash", "/etc/profile.d/modules.sh") if shutil.os.path.exists(place)]
        self.assertTrue(found, "Environment Modules are missing: scripts/bootstrap --full brings them")
        script = f". {found[0]}\nmodule use {self.folder}/modules\n" + "\n".join(words)
        return self.command("bash", "-e", "-c", script, env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder), **more}, code=code)

    def test_load_and_unload(self):
        place = self.folder / "modules" / "assay"
        place.mkdir(parents=True)
        shutil.copy(PACKAGING / "assay.tcl", place / "0.1.0")
        done = self.module("module load assay", "command -v assay", "assay list suites", "module unload assay",
                           "! command -v assay", ASSAY_PREFIX=str(self.prefix))
        self.assertIn(f"{self.prefix}/bin/assay\n", done.stdout)
        self.assertIn("weekly", done.stdout)
        lost = self.module("module load assay || true", "command -v assay || echo none", ASSAY_PREFIX=str(self.folder))
        self.assertIn("no bin/assay", lost.stderr)
        self.assertIn("none", lost.stdout)

    def test_within_the_installation(self):
        place = self.prefix / "share" / "assay" / "modulefiles" / "assay"
        place.mkdir(parents=True)
        shutil.copy(PACKAGING / "assay.tcl", place / "0.1.0")
        done = self.module(f"module use {place.parent}", "module load assay", "command -v assay")
        self.assertEqual(done.stdout.strip(), f"{self.prefix}/bin/assay")


class Files(RunTest):
    def test_what_was_not_run_says_so(self):
        for name in ("package.py", "assay.def"):
            self.assertTrue((PACKAGING / name).read_text().startswith("# not run: "), name)

    def test_the_spack_package_has_our_dependencies(self):
        text = (PACKAGING / "package.py").read_text()
        calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "depends_on"]
        named = {re.split(r"[@+%]", call.args[0].value)[0] for call in calls}
        table = [line.split() for line in (SOURCE / "scripts" / "packages.txt").read_text().splitlines() if not line.startswith("#")]
        wanted = {re.split(r"[@+%]", row[3])[0] for row in table if row[1] in ("build", "wheel", "test") and row[3] != "-"}
        # Spack has MPI as a virtual package, which any MPI provides.
        self.assertEqual(wanted - {"openmpi"} - named, set())
        options = set(re.findall(r'"(ASSAY_\w+)"', text))
        cache = (BUILD / "CMakeCache.txt").read_text()
        for option in options:
            self.assertRegex(cache, rf"(?m)^{option}:", f"{option} is no option of the build")

    def test_the_apptainer_recipe_names_files(self):
        text = (PACKAGING / "assay.def").read_text()
        for script in re.findall(r"(?m)^    (scripts/\S+)", text):
            self.assertTrue((SOURCE / script).exists(), script)
        presets = (SOURCE / "CMakePresets.json").read_text()
        for preset in re.findall(r"--(?:build )?--preset (\w+)|--preset (\w+)", text):
            self.assertIn(f'"{"".join(preset)}"', presets)


if __name__ == "__main__":
    main(verbosity=2)
