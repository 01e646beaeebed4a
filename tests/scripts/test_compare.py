#!/usr/bin/env python3
"""`assay compare` from the command line: files, exit codes, formats, and what bad input gets."""
import copy
import json

from run_helper import ASSAY, SMALL, SOURCE, RunTest, group, main
import make_results

GOLDEN = """\
         base       new
-------  ---------  ---------
results  base.json  new.json
system   synthetic  synthetic

Meant to differ: software. Speedup: new over base, above 1 new is faster.
"""


def document(number=0, minute=0, **options):
    return make_results.document(rows=4, noise_seed=number, variation=0.001, started=f"2026-01-05T12:{minute:02d}:00.000Z",
                                 **options)


class Compare(RunTest):
    def file(self, name, content):
        file = self.folder / name
        file.write_text(content if isinstance(content, str) else json.dumps(content))
        return file

    def compare(self, base, new, *words, code, vary="software", **more):
        return self.command(ASSAY, "compare", base, new, "--vary", vary, *words, code=code, cwd=self.folder, **more)

    def test_two_stages(self):
        base, new = self.file("base.json", document(1)), self.file("new.json", document(2, slow={"/mb1c0002/": 1.05}))
        flagged = self.folder / "flagged.json"
        done = self.compare("base.json", "new.json", "--flagged", flagged, code=5)
        self.assertTrue(done.stdout.startswith(GOLDEN), done.stdout)
        self.assertIn("needs confirmation", done.stdout)
        self.assertIn("To decide, repeat both measurements with --launches 15 --out FILE; then:\n  assay compare base.json new.json",
                      done.stdout)
        self.assertIn(" --fresh-base FILE_OF_BASE --fresh-new FILE_OF_NEW\n", done.stdout)
        ids = json.loads(flagged.read_text())
        self.assertIn("conv/forward/fp32/onednn/direct/mb1c0002/hot/t2", ids)
        fresh = [self.file(f"fresh{i}.json", document(3 + i, 9, launches=12, slow={"/mb1c0002/": 1.05} if i else {})) for i in (0, 1)]
        words = ["--fresh-base", fresh[0].name, "--fresh-new", fresh[1].name]
        done = self.compare(base.name, new.name, *words, code=4)
        self.assertRegex(done.stdout, r"(?m)^case-0002 .* slower \(fresh\) .* yes .* 12 / 12\b")
        self.assertEqual([line for line in done.stdout.splitlines() if len(line) > 120], [])
        self.assertIn("1 slower, 0 faster, 3 same, 0 inconclusive", done.stdout)
        self.assertNotIn("To decide", done.stdout)
        out = self.folder / "comparison.json"
        self.assertEqual(self.compare(base, new, *words, "--format", "json", "--out", out, code=4).stdout, "")
        self.command(ASSAY, "validate", out, code=0)
        found = json.loads(out.read_text())
        self.assertEqual([row["verdict"] for row in found["rows"]], ["same", "same", "slower", "same"])
        self.assertEqual(found["exit_code"], 4)
        markdown = self.compare(base, new, *words, "--format", "markdown", code=4).stdout
        self.assertIn("| slower (fresh) |", markdown)
        # Fresh results without the row decide nothing, and the same flags would not help.
        for i, file in enumerate(fresh):
            other = json.loads(file.read_text())
            other["rows"] = [row for row in other["rows"] if "/mb1c0002/" not in row["id"]]
            (self.folder / f"without{i}.json").write_text(json.dumps(other))
        done = self.compare(base.name, new.name, "--fresh-base", "without0.json", "--fresh-new", "without1.json", code=5)
        self.assertIn("To decide, launch the rows that the fresh results do not have, too", " ".join(done.stdout.split()))
        self.assertEqual(done.stdout.count("--fresh-base"), 0, done.stdout)
        # The other way round it is an improvement, which never fails.
        self.compare(new, base, "--fresh-base", fresh[1], "--fresh-new", fresh[0], code=0)
        # What the suite tolerates is no alarm.
        self.compare(base, new, "--tolerance", "0.1", code=0)
        # The screened launches themselves confirm nothing.
        self.assertIn("launches would always confirm them", self.compare(base, new, "--fresh-base", base, "--fresh-new", new, code=2).stderr)

    def test_what_was_meant_to_vary(self):
        base = self.file("base.json", document(1))
        other = self.file("other.json", document(2, software={"libraries": {"onednn": {"version": "3.8"}, "libc": "glibc 2.36"}}))
        self.compare(base, other, code=0)
        done = self.compare(base, other, code=6, vary="nothing")
        self.assertIn("REFUSED", done.stdout)
        self.assertRegex(done.stdout, r'software/libraries/onednn/version +3\.7 +3\.8')
        self.assertIn("software/libraries/onednn/version", done.stderr)
        self.assertIn("State with --vary", done.stderr)
        # What was given to a run, no --vary allows: advice to state it would lead nowhere.
        longer = self.compare(base, self.file("longer.json", document(2, run={"max_time": 2})), code=6).stderr
        self.assertIn("run/max_time was not meant to differ", longer)
        self.assertIn("Repeat one of the runs", longer)
        self.assertNotIn("--vary", longer)
        for form in ("terminal", "markdown"):
            self.assertEqual(self.compare(base, other, "--allow-mismatch", "--format", form, code=0, vary="nothing")
                             .stdout.count("MISMATCH ALLOWED"), 2)
        self.assertIs(json.loads(self.compare(base, other, "--allow-mismatch", "--format", "json", code=0, vary="nothing")
                                 .stdout)["allow_mismatch"], True)
        self.compare(base, self.file("suite.json", document(2, hash="other")), code=6)
        self.compare(base, self.file("machine.json", document(2, hardware={"cores": 9})), code=6)
        self.compare(base, self.folder / "machine.json", code=0, vary="hardware")
        half = self.file("half.json", document(2, precisions=("bf16",)))
        self.assertIn("no comparable rows", self.compare(base, half, code=6).stderr)
        self.compare(base, half, code=5, vary="precision")

    def test_rows(self):
        base = self.file("base.json", document(1))
        for status, code in (("incorrect", 3), ("failed", 7), ("timeout", 7), ("unsupported", 6)):
            with self.subTest(status):
                done = self.compare(base, self.file("new.json", document(2, statuses={"c0001/": status})), code=code)
                self.assertIn(f"new is {status}", done.stdout)
                if status != "unsupported":
                    self.assertIn("Geometric mean: none (withheld", done.stdout)
        fewer = document(2)
        fewer["rows"] = [row for row in fewer["rows"] if "c0003" not in row["id"]]
        self.assertIn("only in base", self.compare(base, self.file("new.json", fewer), code=6).stdout)
        self.compare(self.folder / "new.json", base, code=0)
        fewer["rows"] = []
        self.compare(base, self.file("empty.json", fewer), code=6)

    def one_result(self, *words, code, **more):
        return self.command(ASSAY, "compare", "both.json", *words, code=code, cwd=self.folder, **more)

    def test_two_sides_of_one_result(self):
        made = make_results.document(rows=8, noise_seed=1, variation=0.001, backends=("onednn", "mine"), slow={"/mb1c0002/": 1.0})
        for row in made["rows"]:
            row["system_parameters"] = ["algorithm", "backend", "threads"]
        self.file("both.json", made)
        sides = ["--base", "backend=onednn", "--new", "backend=mine"]
        done = self.one_result(*sides, code=5)
        self.assertIn("both.json (backend=onednn)", done.stdout)
        self.assertIn("Meant to differ: backend.", done.stdout)
        self.assertIn("backend onednn / mine", done.stdout)
        self.assertIn("4 inconclusive", done.stdout)
        self.assertIn("(4 of 4 rows, by their first launches)", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^case-0001 .* 0\.7[67]\d\d  ", "1.3 times the time")
        self.assertIn(f"\n  assay compare both.json {sides[0]} {sides[1]} {sides[2]} {sides[3]} --fresh-base FILE --fresh-new FILE\n", done.stdout,
                      "no run that --confirm could repeat")
        document = json.loads(self.one_result(*sides, "--format", "json", code=5).stdout)
        self.assertEqual([row["id"] for row in document["rows"]],
                         [f"conv/forward/fp32/*/direct/mb1c{i:04}/hot/t2" for i in range(4)])
        self.assertTrue(all(row["interval"][0] < row["ratio"] < row["interval"][1] for row in document["rows"]))
        self.assertEqual([document[side]["files"] for side in ("base", "new")], [["both.json"]] * 2)
        # The filter is that of tables, here and with two results.
        document = json.loads(self.one_result(*sides, "--filter", "c000[12]", "--format", "json", code=5).stdout)
        self.assertEqual(len(document["rows"]), 2)
        self.file("other.json", make_results.document(rows=8, noise_seed=2, variation=0.001, backends=("onednn", "mine"),
                                                      started="2026-01-05T12:01:00.000Z"))
        done = self.compare("both.json", "other.json", "--filter", "backend=mine", "--format", "json", code=0)
        self.assertEqual({row["id"].split("/")[3] for row in json.loads(done.stdout)["rows"]}, {"mine"})
        # Only verified rows are compared.
        for row in made["rows"]:
            if "/mine/" in row["id"] and "c0001/" in row["id"]:
                row.update(make_results.row("mb1c0001", 1, [], backend="mine", status="incorrect", launch=row["launch"]),
                           system_parameters=row["system_parameters"])
        self.file("both.json", made)
        done = self.one_result(*sides, code=3)
        self.assertIn("new is incorrect", done.stdout)
        self.assertIn("Geometric mean: none (withheld", done.stdout)

    def test_suggests_sides_that_pair_more_rows(self):
        """The algorithms differ between the backends as well; what is suggested can be pasted and pairs what it says."""
        made = make_results.document(rows=16, noise_seed=1, variation=0.001, backends=("onednn", "mine"), algorithms=("direct", "winograd"))
        made["rows"] = [{**row, "system_parameters": ["algorithm", "backend", "threads"]} for row in made["rows"]
                        if row["parameters"]["algorithm"] == ("winograd" if row["parameters"]["backend"] == "mine" else "direct")
                        or "c0001/" in row["id"]]
        self.file("both.json", made)
        done = self.one_result("--base", "backend=onednn", "--new", "backend=mine", code=6)
        command = "assay compare both.json --base backend=onednn,algorithm=direct --new backend=mine,algorithm=winograd"
        self.assertIn("assay: 2 rows were compared, because more differs between the sides. To compare more:\n"
                      f"4 rows, whose algorithm differs:\n  {command}\n", done.stderr)
        done = self.one_result(*command.split()[3:], "--format", "json", code=5)
        self.assertEqual(len(json.loads(done.stdout)["rows"]), 4)
        self.assertEqual(done.stderr, "")

    def test_confirms_two_sides_of_one_result(self):
        """Launches of both sides in turns, with the settings of their run."""
        suite = self.suite([group(["direct"], [SMALL], backend=backend, tolerance=1e-9) for backend in ("reference", "faulty")])
        honest = self.environment(ASSAY_FAULT_OFF="1")
        self.run_suite(suite, "--launches", 5, env=honest, code=0)
        words = [ASSAY, "compare", self.out, "--base", "backend=reference", "--new", "backend=faulty"]
        text = self.command(*words, env=honest, code=5).stdout
        self.assertIn("1 needs fresh launches", text)
        self.assertIn(f"\n  assay {' '.join(map(str, words[1:]))} --confirm DIR\n", text)
        fresh = self.folder / "fresh"
        done = self.command(*words, "--confirm", fresh, "--format", "json", env=honest)
        self.assertIn(done.returncode, (0, 4, 5), done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual((document["stage"], document["vary"]), ("confirmed", "backend"))
        self.assertEqual([row["stage"] for row in document["rows"]], ["confirmed"])
        self.assertEqual(document["rows"][0]["id"], f"conv/forward/fp32/*/direct/{SMALL}/hot/t1")
        for side, backend in (("base", "reference"), ("new", "faulty")):
            rows = json.loads((fresh / side / "result.json").read_text())["rows"]
            self.assertEqual({row["parameters"]["backend"] for row in rows}, {backend})
            self.assertEqual(len(rows), document["rows"][0][side]["launches"])
        # The launches of the screen confirm nothing, on whatever side they stand.
        self.assertIn("would always confirm them",
                      self.command(*words, "--fresh-base", self.out, "--fresh-new", self.out, env=honest, code=2).stderr)

    def test_refuses_wrong_sides_of_one_result(self):
        self.file("both.json", make_results.document(rows=8, noise_seed=1, backends=("onednn", "mine")))
        sides = ["--base", "backend=onednn", "--new", "backend=mine"]
        for words, told in ((["--base", "backnd=onednn", *sides[2:]], ["unknown parameter of --base 'backnd'", "Did you mean 'backend'?"]),
                            ([*sides[:2], "--new", "backend=nine"], ["unknown value of backend in --new 'nine' (valid: mine, onednn)"]),
                            ([*sides[:2], "--new", "backend=onednn"], ["--base and --new both choose the rows of backend=onednn"]),
                            ([*sides[:2], "--new", "mine"], ["--new 'mine'", "NAME=VALUE"]),
                            (sides[:2], ["--new"]), (["both.json", *sides], ["exclude NEW"]),
                            ([*sides, "--vary", "backend"], ["--vary"]), ([], ["NEW is missing"]), (["both.json"], ["--vary is missing"]),
                            ([*sides, "--filter", "backend=onednn"], ["unknown value of backend in --new 'mine'"]),
                            ([*sides, "--filter", "precision=fp64"], ["no row matches"])):
            with self.subTest(words):
                done = self.one_result(*words, code=2)
                self.assertEqual(done.stdout, "")
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                for part in told:
                    self.assertIn(part, done.stderr)

    def test_bad_input(self):
        good = document(1)
        base = self.file("base.json", good)

        def spoilt(change):
            made = copy.deepcopy(good)
            change(made)
            return made

        def negative(made):
            made["rows"][3]["samples_s"][0] = -1e-3

        def doubled(made):
            made["rows"].append(copy.deepcopy(made["rows"][3]))

        def unit(made):
            made["rows"][3]["time_s"]["unit"] = "ms"

        def mixed(made):  # a time in milliseconds beside samples in seconds
            made["rows"][3]["time_s"]["median"] *= 1000

        text = json.dumps(good)
        for name, content, told in (
                ("truncated", text[: len(text) // 2], ["truncated.json", "line"]),
                ("foreign", {"context": {}, "benchmarks": []}, ["foreign.json", "schema"]),
                ("suite", (SOURCE / "suites" / "smoke.json").read_text(), ["/schema", "assay-result/1"]),
                ("negative", spoilt(negative), ["/rows/3/samples_s/0", "-0.001"]),
                ("nan", text.replace('"median": ', '"median": NaN, "was": ', 1), ["nan.json"]),
                ("doubled", spoilt(doubled), [f"/rows/{len(good['rows'])}", "second row"]),
                ("unit", spoilt(unit), ["/rows/3/time_s/unit"]),
                ("mixed", spoilt(mixed), ["/rows/3/time_s/median"]),
        ):
            with self.subTest(name):
                for sides in ((base, self.file(f"{name}.json", content)), (self.folder / f"{name}.json", base)):
                    done = self.compare(*sides, code=2)
                    self.assertEqual(done.stdout, "")
                    for part in told:
                        self.assertIn(part, done.stderr)
        self.assertIn("absent.json", self.compare(base, "absent.json", code=2).stderr)
        for words, told in ((["--tolerance", "-1"], "--tolerance"), (["--tolerance", "nan"], "--tolerance"),
                            (["--false-alarm-rate", "0"], "--false-alarm-rate"), (["--fresh-base", base], "--fresh-new"),
                            (["--format", "jsn"], "json"), (["--out", "/proc/x/y"], "/proc/x")):
            with self.subTest(words):
                self.assertIn(told, self.compare(base, base, *words, code=2).stderr)
        self.assertIn("Did you mean 'software'?", self.compare(base, base, code=2, vary="softwre").stderr)
        self.assertIn("--vary", self.command(ASSAY, "compare", base, base, code=2).stderr)
        self.assertIn("NEW is missing", self.command(ASSAY, "compare", base, "--vary", "nothing", code=2).stderr)


if __name__ == "__main__":
    main(verbosity=2)
