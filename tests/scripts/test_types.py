#!/usr/bin/env python3
"""No two files define types of the same full name: with such a pair each of two inline functions may run for the other type."""
import collections
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
ROOMS = ("core", "formulas", "support", "kernels", "comm", "datasets", "models", "analysis", "runner", "cli", "tests")
# Programs and libraries of their own: what they define meets no other file of these folders.
APART = ("tests/throwaway/", "tests/plugins/", "tests/cblas/", "tests/self_benchmark/")


def find_repeated(root, files):
    """Full name -> the files that define it, of those that more than one file defines. Anonymous namespaces are a file's own."""
    listed = subprocess.run(
        ["ctags", "-L", "-", "--map-C++=+.cu", "--kinds-C++=cgsu", "--fields-C++=+{specialization}", "-x",
         "--_xformat=%F\t%s::%N%{C++.specialization}", "-o", "-"],
        cwd=root, text=True, check=True, stdout=subprocess.PIPE, input="\n".join(files)).stdout
    places = collections.defaultdict(set)
    for line in listed.splitlines():
        file, name = line.split("\t")
        if "__anon" not in name:
            places[name].add(file)
    return {name: sorted(where) for name, where in places.items() if len(where) > 1}


@unittest.skipUnless(shutil.which("ctags"), "ctags is not installed")
class Types(unittest.TestCase):
    def test_names_are_unique(self):
        ours = [str(file.relative_to(SOURCE)) for room in ROOMS for kind in ("hpp", "cpp", "cu") for file in (SOURCE / room).rglob(f"*.{kind}")]
        ours = [file for file in ours if not file.startswith(APART)]
        self.assertGreater(len(ours), 900)
        self.assertEqual(find_repeated(SOURCE, ours), {})

    def test_a_repeated_name_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "a.hpp").write_text("namespace assay { struct Part { int a; }; }\n")
            (root / "b.cpp").write_text("namespace assay {\nclass Part final {};\nnamespace { struct Own {}; } }\n")
            (root / "c.cpp").write_text("namespace assay { class Part; namespace { struct Own {}; } namespace x { struct Part {}; } }\n")
            self.assertEqual(find_repeated(root, ["a.hpp", "b.cpp", "c.cpp"]), {"assay::Part": ["a.hpp", "b.cpp"]})


if __name__ == "__main__":
    unittest.main()
