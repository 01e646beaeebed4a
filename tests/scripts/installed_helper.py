"""The common part of the script tests of an installed tree: it was moved, and nothing leads to the source tree or the
build."""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile

from run_helper import BUILD, RunTest


class InstalledTest(RunTest):
    @classmethod
    def install(cls):
        """Makes cls.prefix, once for all tests of the class; cls.said is what `cmake --install` has printed."""
        place = pathlib.Path(tempfile.mkdtemp(prefix="assay-test-installed-"))
        cls.addClassCleanup(shutil.rmtree, place, ignore_errors=True)
        made, cls.prefix = place / "made", place / "a moved tree"
        cls.said = subprocess.run(["cmake", "--install", str(BUILD), "--prefix", str(made)], text=True, check=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
        made.rename(cls.prefix)

    def user_environment(self, **more):
        return {"PATH": os.defpath, "HOME": str(self.folder), "OMP_NUM_THREADS": "2"} | more

    def program(self, name):
        """A word of a shell's command line."""
        return shlex.quote(str(self.prefix / "bin" / name))

    def shell(self, line, code=0, **more):
        return self.command("sh", "-c", line, cwd=self.folder, env=self.user_environment(**more), code=code)

    def new_backend(self, *words, code=0):
        return self.command(self.prefix / "bin" / "assay", "new", "backend", *words, cwd=self.folder, env=self.user_environment(), code=code)

    def commands_of(self, said):
        """The three commands that `assay new` prints: they build, measure and install the new backend."""
        commands = re.findall(r"(?m)^  (\S.*)$", said)
        self.assertEqual(len(commands), 3, said)
        return commands
