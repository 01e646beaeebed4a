#!/usr/bin/env python3
"""States in which something is missing where the backend cuda is loaded: each is one line of reason, and no crash.

A machine of each kind is a folder with the real programs and the real plugin: where a library is to be absent, the plugin's
copy asks for another name of it, which nobody has.
"""
import json
import os
import pathlib
import re
import shutil

from run_helper import BIN, BUILD, SMALL, SOURCE, RunTest, main

CUDART, CUDNN = os.environ["CUDART_SONAME"], os.environ["CUDNN_SONAME"]
STUBS = pathlib.Path(os.environ["CUDA_STUBS"])
PLUGIN = "libassay_cuda.so"


class States(RunTest):
    def tree(self, plugin):
        """A machine whose plugin cuda is `plugin`'s return value for the real one's bytes; None: it has none."""
        root = self.folder / "machine"
        shutil.rmtree(root, ignore_errors=True)
        (root / "bin").mkdir(parents=True)
        (root / "lib" / "assay").mkdir(parents=True)
        for program in ("assay", "assay-conv", "assay-rnn", "assay-stream"):
            shutil.copy(BIN / program, root / "bin")
        for library in (BUILD / "lib").glob("*.so*"):
            (root / "lib" / library.name).symlink_to(library.resolve())
        content = plugin((BUILD / "lib" / "assay" / PLUGIN).read_bytes())
        if content is not None:
            (root / "lib" / "assay" / PLUGIN).write_bytes(content)
        return root

    def without(self, soname):
        """The plugin, of which the library `soname` has gone: the name that it asks for is another one."""
        other = soname.replace(".so.", ".no.")

        def changed(content):
            self.assertIn(soname.encode() + b"\0", content)
            return content.replace(soname.encode() + b"\0", other.encode() + b"\0")
        return changed, other

    def reason(self, root, **variables):
        """The text of every place about the backend: the list, a row, a required row."""
        environment = self.environment(ASSAY_DATA_PATH=str(SOURCE), **variables)
        del environment["ASSAY_PLUGIN_PATH"]
        listed = self.command(root / "bin" / "assay", "list", "backends", env=environment, code=0).stdout
        lines = [line for line in listed.splitlines() if "cuda" in line]
        out = self.folder / "row.json"
        reasons = set()
        for program, words in (("assay-conv", ("--problem", SMALL, "--direction", "bwd_data", "--algorithm", "algo_0")),
                               ("assay-rnn", ("--problem", "lstm:7-3-5", "--direction", "bwd", "--algorithm", "persist_static")),
                               ("assay-stream", ("--problem", "triad_n1000"))):
            call = (root / "bin" / program, "--backend", "cuda", "--device", "gpu", *words, "--out", out)
            said = self.command(*call, env=environment, code=6)  # no row was measured
            self.assertEqual(said.stderr.strip(), f"wrote {out}")  # nothing else is told, least of all by a loader
            rows = json.loads(out.read_text())["rows"]
            self.assertEqual([row["status"] for row in rows], ["unsupported"])
            self.assertTrue(rows[0]["reason"].startswith("cuda: unavailable: "), rows[0]["reason"])
            self.assertNotIn("\n", rows[0]["reason"])
            self.assertIsNone(rows[0]["time_s"])
            reasons.add(rows[0]["reason"].removeprefix("cuda: unavailable: "))
            self.command(*call, "--required", env=environment, code=7)
        self.assertEqual(len(reasons), 1, reasons)
        reason = reasons.pop()
        if (root / "lib" / "assay" / PLUGIN).exists():
            self.assertEqual(len(lines), 1, listed)
            self.assertIn("unavailable", lines[0])
            self.assertIn(reason, lines[0])
        else:
            self.assertEqual(lines, [])
        return reason

    def test_the_plugin_is_absent(self):
        self.assertIn("no plugin libassay_cuda.so", self.reason(self.tree(lambda content: None)))

    def test_the_cuda_libraries_are_absent(self):
        changed, other = self.without(CUDART)
        self.assertRegex(self.reason(self.tree(changed)), f"^{other}: cannot open shared object file")

    def test_only_cudnn_is_absent(self):
        changed, other = self.without(CUDNN)
        self.assertRegex(self.reason(self.tree(changed)), f"^{other}: cannot open shared object file")

    def test_no_driver_or_no_gpu(self):
        # There is a driver, but none of its GPUs is to be seen: both are this machine without one.
        reason = self.reason(self.tree(lambda content: content), CUDA_VISIBLE_DEVICES="")
        self.assertRegex(reason, r'^no GPU can be used \(CUDA: "(CUDA driver version is insufficient for CUDA runtime version", '
                                 r'error 35|no CUDA-capable device is detected", error 100)\)$')

    def test_a_suite_without_a_gpu_says_so_of_every_row_and_of_its_ceilings(self):
        environment = self.environment(CUDA_VISIBLE_DEVICES="")
        self.run_suite(SOURCE / "suites" / "coral2-gpu.json", code=6, env=environment)
        self.check_file()
        result = json.loads((self.out / "result.json").read_text())
        self.assertGreater(len(result["rows"]), 100)
        self.assertGreaterEqual(len(result["run"]["bracket"]), 2)
        for row in [row for bracket in result["run"]["bracket"] for row in bracket["rows"]] + result["rows"]:
            self.assertEqual(row["status"], "unsupported")
            self.assertIn("no GPU can be used", row["reason"])
        for row in result["rows"]:
            self.assertIsNone(row["ceiling"])
            self.assertTrue(row["ceiling_reason"])
        peaks = {row["parameters"]["precision"] for row in result["run"]["bracket"][0]["rows"] if "matmul" in row["id"]}
        self.assertEqual(peaks, {"fp32", "tf32", "fp16", "bf16", "int8"})

    def test_the_first_look_without_a_gpu(self):
        self.run_suite(SOURCE / "suites" / "smoke-gpu.json", code=6, env=self.environment(CUDA_VISIBLE_DEVICES=""))
        self.check_file()
        rows = json.loads((self.out / "result.json").read_text())["rows"]
        self.assertEqual({(row["status"], "no GPU can be used" in row["reason"]) for row in rows}, {("unsupported", True)})
        self.assertEqual({row["benchmark"] for row in rows}, {"stream", "conv", "rnn", "resnet50", "pca", "copy"})

    def test_the_driver_is_a_stub(self):
        # The state is that of a login node whose LD_LIBRARY_PATH leads to the toolkit's folder of stubs.
        folder = self.folder / "stubs"
        folder.mkdir()
        (folder / "libcuda.so.1").symlink_to(STUBS / "libcuda.so")
        self.assertTrue((folder / "libcuda.so.1").exists(), STUBS)
        reason = self.reason(self.tree(lambda content: content), LD_LIBRARY_PATH=str(folder))
        self.assertRegex(reason, r'^no GPU can be used \(CUDA: ".*stub.*", error 34\)$')

    def test_a_plugin_of_another_version_of_assay(self):
        version = re.search(rb'interface_version = "([0-9a-f]{16})"',
                            (BUILD / "generated" / "assay" / "interface_version.hpp").read_bytes())[1]
        reason = self.reason(self.tree(lambda content: content.replace(version, b"0123456789abcdef")))
        self.assertIn("built for interface 0123456789abcdef", reason)

    def test_cmake_takes_a_wheel_for_cudnn(self):
        # A wheel has the library under its run-time name alone, and comes before what the system has.
        wheel = self.folder / "nvidia" / "cudnn"
        (wheel / "include").mkdir(parents=True)
        (wheel / "lib").mkdir()
        (wheel / "include" / "cudnn_version.h").write_text(
            "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 12\n#define CUDNN_PATCHLEVEL 3\n")
        (wheel / "lib" / "libcudnn.so.9").touch()
        (self.folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(wheel LANGUAGES NONE)\n"
            f'list(APPEND CMAKE_MODULE_PATH "{SOURCE}/cmake")\n'
            'find_package(CUDNN 8.0)\nmessage(STATUS "${CUDNN_VERSION} ${CUDNN_LIBRARY} ${CUDNN_INCLUDE_DIR}")\n')
        generator = os.environ.get("CMAKE_GENERATOR", "Ninja")
        call = ("cmake", "-G", generator, "-S", self.folder, "-B", self.folder / "b", f"-DCMAKE_PREFIX_PATH={wheel}")
        said = self.command(*call, code=0).stdout
        self.assertIn(f"9.12.3 {wheel}/lib/libcudnn.so.9 {wheel}/include", said)

    def test_cmake_says_what_a_small_toolkit_lacks(self):
        # Else configuring would end with an unknown target, or compiling with an unknown header.
        include = self.folder / "include"
        include.mkdir()
        (include / "cublas_v2.h").touch()
        (self.folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(toolkit LANGUAGES NONE)\n"
            f'list(APPEND CMAKE_MODULE_PATH "{SOURCE}/cmake")\ninclude(AssayCuda)\n'
            f'set(CUDAToolkit_INCLUDE_DIRS "{include}")\nassay_missing_of_cuda(missing)\nmessage(STATUS "lacks: ${{missing}}.")\n')
        generator = os.environ.get("CMAKE_GENERATOR", "Ninja")
        said = self.command("cmake", "-G", generator, "-S", self.folder, "-B", self.folder / "b", code=0).stdout
        self.assertIn("lacks: libcublasLt, cublasLt.h, cusolverDn.h.", said)

    def test_the_driver_is_never_linked(self):
        # It would keep the plugin from loading where there is none: dlopen would name libcuda, not the GPU.
        content = (BUILD / "lib" / "assay" / PLUGIN).read_bytes()
        self.assertIn(CUDART.encode() + b"\0", content)
        self.assertNotIn(b"libcuda.so", content)


if __name__ == "__main__":
    main()
