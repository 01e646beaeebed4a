"""The common part of the script tests of `assay run`: programs, throw-away plugins, suites, journals."""
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

SOURCE = pathlib.Path(os.environ.get("ASSAY_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[2]))
BUILD = pathlib.Path(os.environ.get("ASSAY_BUILD_DIR", SOURCE / "build"))
BIN = pathlib.Path(os.environ.get("ASSAY_BIN_DIR", BUILD / "bin"))
PLUGINS = BUILD / "tests" / "plugins"
ASSAY = str(BIN / "assay")
CONV = str(BIN / "assay-conv")
SMALL = "mb1ic8ih8oc8oh8kh3ph1"  # every output is checked, and it takes microseconds
# For runs that every rank ends by itself: mpirun waits 2 s for ranks that are gone where one of them has ended with an error.
AT_ONCE = {"OMPI_MCA_odls_base_sigkill_timeout": "0"}
DEADLINE = 120  # seconds until a wait is given up; no test passes or fails by a time below it
sys.path.insert(0, str(SOURCE / "tests" / "support"))  # for what imports this module first


def event_of(line):
    """The event of a journal's line, without its checksum."""
    return {key: value for key, value in json.loads(line).items() if key != "crc32"}


def line_of(event):
    """A journal's line, without its newline."""
    text = json.dumps(event)[1:]
    return f'{{"crc32":"{zlib.crc32(text.encode()):08x}",{text}'


def read_report(text):
    """The data of a page of `assay report`, in which a list of records comes as columns."""
    def unpack(node):
        if "packed columns" not in node:
            return node
        columns = node["packed columns"]
        lists = [[column["texts"][place] for place in column["places"]] if isinstance(column, dict) else column for column in columns.values()]
        return [dict(zip(columns, record)) for record in zip(*lists)]
    return json.loads(text, object_hook=unpack)


def group(algorithms, problems=(SMALL,), backend="faulty", **more):
    return {"benchmark": "conv", "problem": list(problems), "backend": [backend], "algorithm": list(algorithms),
            "threads": [1], **more}


class RunTest(unittest.TestCase):
    """A folder of its own and the faulty backend in reach."""

    def setUp(self):
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="assay-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.out = self.folder / "out"

    def suite(self, groups, name="test", **more):
        file = self.folder / f"{name}.json"
        file.write_text(json.dumps({"schema": "assay-suite/1", "name": name, "timing": {"max_time": 0.02}, "ceilings": False,
                                    "cases": groups, **more}))
        return file

    def environment(self, **more):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("ASSAY_FAULT")}
        environment.update({"ASSAY_PLUGIN_PATH": str(PLUGINS), "ASSAY_FAULT_INNER": "reference", "OMP_NUM_THREADS": "1"}, **more)
        return environment

    def command(self, *words, env=None, code=None, **more):
        done = subprocess.run([str(w) for w in words], env=env or self.environment(), text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=10 * DEADLINE, **more)
        if code is not None:
            self.assertEqual(done.returncode, code, f"{words}\n{done.stdout}\n{done.stderr}")
        return done

    def expect_ok(self, rows, count):
        for row in rows:
            with self.subTest(row["id"]):
                self.assertEqual(row["status"], "ok", row["reason"])
        self.assertEqual(len(rows), count)
        return rows

    def run_suite(self, suite, *words, env=None, code=None, **more):
        return self.command(ASSAY, "run", suite, "--out", self.out, *words, env=env, code=code, **more)

    def start_suite(self, suite, *words, env=None):
        errors = open(self.folder / "stderr.txt", "a+")
        self.addCleanup(errors.close)
        process = subprocess.Popen([ASSAY, "run", str(suite), "--out", str(self.out), *map(str, words)],
                                   env=env or self.environment(), stdout=subprocess.DEVNULL, stderr=errors,
                                   stdin=subprocess.DEVNULL)
        self.addCleanup(lambda: process.poll() is None and (process.kill(), process.wait()))
        return process

    def journal(self):
        file = self.out / "journal.jsonl"
        lines = file.read_text().split("\n")[:-1] if file.exists() else []
        return [event_of(line) for line in lines]

    def rows(self):
        return json.loads((self.out / "result.json").read_text())["rows"]

    def journal_rows(self):
        return [event["row"] for event in self.journal() if event["event"] == "row"]

    def wait_until(self, condition, process=None):
        end = time.monotonic() + DEADLINE
        while not condition():
            self.assertLess(time.monotonic(), end, "waited in vain")
            if process is not None:
                try:
                    process.wait(timeout=0.02)
                except subprocess.TimeoutExpired:
                    continue
                self.assertTrue(condition(), f"ended with {process.returncode} before it came so far:\n"
                                f"{(self.folder / 'stderr.txt').read_text()}")
        return True

    def children_at_work(self):
        """Processes whose command line names this test's folder, but for zombies."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and int(entry.name) != os.getpid() and \
                        str(self.out).encode() in (entry / "cmdline").read_bytes() and \
                        (entry / "stat").read_text().rsplit(")", 1)[1].split()[0] != "Z":
                    found.append(int(entry.name))
            except OSError:
                pass
        return found

    def check_file(self):
        """The written file is valid by our own judgement (test_result_schema.py asks an independent one)."""
        self.command(ASSAY, "validate", self.out / "result.json", code=0)


def last_part(row):
    return row["parameters"]["algorithm"]


def main(**options):
    """unittest.main, but 77 where every test was skipped: ctest then says so, too."""
    result = unittest.main(exit=False, **options).result
    everything = result.testsRun > 0 and len(result.skipped) == result.testsRun
    raise SystemExit(77 if everything else int(not result.wasSuccessful()))
