"""The folder of one injected fault: commands that start in it, what they must not leave, and what journals in it hold."""
import json
import os
import pathlib
import resource
import signal
import subprocess
import time

from bad_inputs import PATIENCE, RAW
from run_helper import event_of


class Place:
    """A folder with the inputs of a fault, which starts commands and knows what they must not leave."""

    def __init__(self, folder, suite):
        self.folder = folder
        self.scratch = folder / "scratch"
        self.scratch.mkdir()
        self.out = folder / "out"
        self.suite = folder / "suite.json"
        self.suite.write_text(json.dumps(suite))
        self.journal = self.out / "journal.jsonl"
        self.found = []
        self.injected = True  # False if the process ended before the fault

    def expect(self, condition, what):
        if not condition:
            self.found.append(what)
        return condition

    def start(self, words, limit=None):
        def prepare():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        environment = {**os.environ, "TMPDIR": str(self.scratch), "OMP_NUM_THREADS": "1"}
        return subprocess.Popen(list(map(str, words)), cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, start_new_session=True, preexec_fn=prepare)

    def end(self, process):
        """The exit code and what was said; a process that hangs is a fault."""
        try:
            _, said = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            self.found.append("hangs")
            return -signal.SIGKILL, ""
        said = said.decode("utf-8", "replace")
        if raw := RAW.search(said):
            self.found.append(f"prints a raw exception ({raw.group()}): {said[:300]}")
        return process.returncode, said

    def run(self, *words, limit=None):
        return self.end(self.start(words, limit))

    def expect_code(self, codes, *words):
        code, said = self.run(*words)
        return self.expect(code in codes, f"{[str(word)[-40:] for word in words[:4]]} ends with {code}: {said[-400:]}")

    def at_work(self):
        """Processes whose command line or folder is here, but for zombies."""
        here, found = str(self.folder).encode(), []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                mine = here in (entry / "cmdline").read_bytes() or os.readlink(entry / "cwd").startswith(str(self.folder))
                if mine and (entry / "stat").read_text().rsplit(")", 1)[1].split()[0] != "Z":
                    found.append(int(entry.name))
            except OSError:
                pass
        return found

    def expect_nothing_left(self, by_surprise):
        """`by_surprise`: the process could not clean up. Its children end soon after it in any case."""
        until = time.monotonic() + 30
        while (left := self.at_work()) and time.monotonic() < until:
            time.sleep(0.01)
        self.expect(not left, f"processes {left} are left")
        files = [file.name for file in self.folder.rglob("*.tmp*")] + [file.name for file in self.scratch.iterdir()]
        self.expect(by_surprise or not files, f"files {files} are left")

    def wait_for(self, process, condition):
        """Until the condition holds or the process ends; whether it was still running."""
        while process.poll() is None:
            if condition():
                return True
            time.sleep(0.0005)
        self.injected = False
        return False


def read(file, otherwise=b""):
    try:
        return file.read_bytes()
    except OSError:
        return otherwise


def lines_of(journal):
    return read(journal).split(b"\n")[:-1]


def rows_of_text(text):
    """The rows of a journal's whole lines."""
    return [event["row"] for event in map(event_of, text.split(b"\n")[:-1]) if event["event"] == "row"]


def rows_of(journal):
    return rows_of_text(read(journal))


def key(row):
    return row["id"], row["launch"], tuple(row["samples_s"])
