#!/usr/bin/env python3
"""Help and tables on terminals of 80, 100, 120 and 200 columns: each takes the width that there is; a pipe has its own."""
import csv
import fcntl
import json
import os
import pty
import re
import select
import shlex
import struct
import subprocess
import termios

from run_helper import ASSAY, BIN, SOURCE, RunTest, group, main
import make_results

def csv_reader(text):
    head, *lines = csv.reader(text.splitlines())
    return len(head) > 1 and lines and all(len(line) == len(head) for line in lines)


WIDTHS = (80, 100, 120, 200)
COMMANDS = sorted(file.stem.removesuffix("_command") for file in SOURCE.glob("cli/*_command.cpp"))
PROGRAMS = sorted(file.name for file in BIN.glob("assay-*") if os.access(file, os.X_OK))


class Terminal(RunTest):
    def on_terminal(self, columns, *words, codes=(0,), **environment):
        """The lines that the words print on a terminal of so many columns, without colours."""
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        env = {key: value for key, value in self.environment(TERM="xterm", **environment).items() if key != "COLUMNS" or "COLUMNS" in environment}
        process = subprocess.Popen([str(word) for word in words], stdout=follower, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=env,
                                   cwd=self.folder)
        os.close(follower)
        text = b""
        while select.select([leader], [], [], 60)[0]:
            try:
                piece = os.read(leader, 65536)
            except OSError:  # the program has closed it
                break
            if not piece:
                break
            text += piece
        os.close(leader)
        self.assertIn(process.wait(), codes, words)
        return re.sub(r"\x1b\[[0-9;]*m", "", text.decode()).replace("\r\n", "\n").splitlines()

    def piped(self, *words, **environment):
        return self.command(*words, env=self.environment(**environment), code=0).stdout.splitlines()

    def test_help_fits(self):
        for words in [(ASSAY,), *((ASSAY, command) for command in COMMANDS), *((BIN / program,) for program in PROGRAMS)]:
            piped = self.piped(*words, "--help")
            for columns in WIDTHS:
                with self.subTest(words=words[-1], columns=columns):
                    shown = self.on_terminal(columns, *words, "--help")
                    self.assertEqual([line for line in shown if len(line) > columns and " " in line.strip()], [])
                    # Only the breaks of lines differ.
                    plain = [" ".join("\n".join(lines).replace("\\\n", " ").split()) for lines in (shown, piped)]
                    self.assertEqual(plain[0], plain[1])
            self.assertLessEqual(len(self.on_terminal(200, *words, "--help")), len(self.on_terminal(80, *words, "--help")))

    def test_examples_can_be_pasted(self):
        """A shell reads the broken lines as the whole ones."""
        def examples(lines):
            text = "\n".join(lines[lines.index("Examples:") + 1:]).replace("\\\n", "")
            return [shlex.split(line) for line in re.findall(r"(?m)^  (assay\S* .*)$", text)]
        broken = 0
        for words in [(ASSAY, command) for command in COMMANDS] + [(BIN / program,) for program in PROGRAMS]:
            shown = self.on_terminal(80, *words, "--help")
            broken += sum(line.endswith("\\") for line in shown)
            self.assertEqual(examples(shown), examples(self.piped(*words, "--help")))
        self.assertGreater(broken, 0)

    def test_columns_of_the_shell_and_small_windows(self):
        def widest(*arguments, **environment):
            return max(map(len, self.on_terminal(*arguments, **environment)))
        help_of_run = (ASSAY, "run", "--help")
        self.assertGreater(widest(120, *help_of_run, COLUMNS="200"), 120)
        self.assertLessEqual(widest(200, *help_of_run, COLUMNS="90"), 90)
        for useless in ("", "wide", "-5", "0", "99999999999999999999"):
            self.assertEqual(self.on_terminal(100, *help_of_run, COLUMNS=useless), self.on_terminal(100, *help_of_run))
        self.assertEqual(self.on_terminal(40, *help_of_run), self.on_terminal(80, *help_of_run))
        self.assertEqual(self.on_terminal(0, *help_of_run), self.piped(*help_of_run), "a terminal that does not know its size")
        self.assertEqual(self.piped(*help_of_run, COLUMNS="200"), self.piped(*help_of_run), "a pipe has its own width")
        # Open MPI gives its ranks terminals, whatever its own output goes to.
        ranks = {"OMPI_COMM_WORLD_SIZE": "1", "OMPI_COMM_WORLD_RANK": "0"}
        self.assertEqual(self.on_terminal(200, *help_of_run, **ranks), self.piped(*help_of_run))

    def results(self):
        for name in ("monday", "tuesday"):
            self.out = self.folder / "results" / name
            self.run_suite(self.suite([group(["direct"], problems=("mb1ic8ih8oc8oh8kh3ph1", "mb1ic8ih9oc8kh3ph1"), backend="reference"),
                                       group(["direct"], backend="refusing")]), "--launches", 3, code=0)
        return "results/monday", "results/tuesday"

    def measured_tables(self):
        """Commands that print tables of results measured here, or made: of networks, trainings and fleets."""
        self.command(BIN / "assay-resnet50", "--backend", "native", "--problem", "d50w8s32c10", "--batch", 2, "--threads", 1, "--max-time", 0.1,
                     "--out", "network.json", code=0, cwd=self.folder)
        train = ("--network", "mlp:i64w32l1c4", "--data", "learnable:n400v100", "--rate", 0.1, "--max-time", 0.1, "--threads", 1)
        self.command(BIN / "assay-train", *train, "--epochs", 1, "--target", 0.2, "--precision", "fp32,bf16,fp16",
                     "--out", "training.json", cwd=self.folder)
        nodes = self.folder / "nodes"
        nodes.mkdir()
        for i in range(4):
            document = make_results.document(rows=4, launches=5, hosts=(f"n{i:02}.a-long-name-of-a-cluster.example.org",), noise_seed=i,
                                             run={"id": f"run-{i}"})
            (nodes / f"{i}.json").write_text(json.dumps(document))
        return [("table", "network.json", "--layers"), ("table", "network.json"), ("table", "training.json", "--epochs"),
                ("table", "training.json", "--by", "precision"), ("accept", nodes, "--criteria", "acceptance"),
                *(("model", "--scale", file.stem) for file in (SOURCE / "suites" / "scale").glob("*.json")),
                ("model", "deepbench-v100", "deepbench-p100", "--formula", "log(time) ~ system + log(flops) + direction")]

    def test_tables_fit(self):
        monday, tuesday = self.results()
        baselines = SOURCE / "results-schema" / "baselines"
        tables = [("table", monday), ("table", baselines / "deepbench-v100.json"), ("table", baselines / "fugaku.json"),
                  ("table", baselines / "summit.json", "--by", "precision"), ("table", baselines / "v100.json"), ("table", "coral2", "v100"),
                  ("compare", monday, tuesday, "--vary", "nothing"), ("history", "results"),
                  *(("list", what) for what in ("backends", "benchmarks", "suites", "criteria", "problems", "baselines", "precisions",
                                                "summaries", "launchers", "sites")), *self.measured_tables()]
        for words in tables:
            for form, read in (("csv", csv_reader), ("json", json.loads)) if words[0] != "list" else ():
                with self.subTest(words=words, form=form):
                    self.assertTrue(read(self.command(ASSAY, *words, "--format", form, cwd=self.folder).stdout))
            for columns in WIDTHS:
                with self.subTest(words=words, columns=columns):
                    shown = self.on_terminal(columns, ASSAY, *words, codes=(0, 3, 4, 5))  # two launches of one build may seem to differ
                    self.assertGreater(len(shown), 2)
                    if words[0] == "history":  # the table; statements below it are never broken
                        shown = shown[:shown.index("")]
                    # A path, an address, and a command to paste stay whole.
                    self.assertEqual([line for line in shown if len(line) > columns and not re.match(r" *(assay .*|\S+)$", line)], [])

    def test_a_wide_terminal_shows_all_columns(self):
        wide = SOURCE / "results-schema" / "baselines" / "deepbench-v100.json"
        def of(columns):
            lines = self.on_terminal(columns, ASSAY, "table", wide)
            head = next(lines[i - 1] for i, line in enumerate(lines) if line.startswith("---"))
            return len(re.split(r"  +", head.strip())), [line for line in lines if line.startswith("Not shown")]
        counts = [of(columns) for columns in (80, 120, 200)]
        self.assertLess(counts[0][0], counts[2][0])
        self.assertLessEqual(counts[1][0], counts[2][0])
        self.assertTrue(counts[0][1])
        self.assertIn("80 characters", counts[0][1][0])
        self.assertFalse(counts[2][1], "columns were left out though they fit")

    def test_files_do_not_depend_on_the_window(self):
        wide = SOURCE / "results-schema" / "baselines" / "deepbench-v100.json"
        out = self.folder / "table.txt"
        piped = self.piped(ASSAY, "table", wide)
        for columns in (80, 200):
            self.on_terminal(columns, ASSAY, "table", wide, "--out", out)
            self.assertEqual(out.read_text().splitlines(), piped)
            self.assertEqual(self.on_terminal(columns, ASSAY, "table", wide, "--format", "markdown"), self.piped(ASSAY, "table", wide, "--format", "markdown"))


if __name__ == "__main__":
    main(verbosity=2)
