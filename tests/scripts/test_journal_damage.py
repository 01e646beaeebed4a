#!/usr/bin/env python3
"""A journal that was damaged or changed by hand never becomes a result: exit 2 with file and line, and nothing is touched.
The journal's own tests (tests/core/result/test_journal.cpp) change every byte."""
import json
import re
import zlib

from run_helper import RunTest, group, main

PROBLEMS = [f"mb{n}ic8ih8oc8oh8kh3ph1" for n in range(1, 3)]


SUM = re.compile(r'(?m)^\{"crc32":"[0-9a-f]{8}",(.*)$')


def with_right_checksums(text):
    return SUM.sub(lambda line: f'{{"crc32":"{zlib.crc32(line[1].encode()):08x}",{line[1]}', text)


class Damage(RunTest):
    def setUp(self):
        super().setUp()
        self.suite_file = self.suite([group(["direct"], PROBLEMS)])
        self.run_suite(self.suite_file, code=0)
        self.file = self.out / "journal.jsonl"
        self.text = self.file.read_text()
        self.result = (self.out / "result.json").read_bytes()

    def resume(self, text):
        self.file.write_bytes(text.encode() if isinstance(text, str) else text)
        done = self.run_suite(self.suite_file, "--resume")
        for word in ("json.exception", "report this as a bug", "terminate called"):
            self.assertNotIn(word, done.stderr)
        return done

    def expect_refused(self, text, line, *words):
        done = self.resume(text)
        self.assertEqual(done.returncode, 2, done.stderr)
        for word in (f"{self.file}: line {line}", *words):
            self.assertIn(word, done.stderr)
        self.assertEqual((self.out / "result.json").read_bytes(), self.result, "the result was touched")
        self.assertEqual(self.file.read_text(), text, "the journal was touched")

    def lines_of(self, kind):
        return [number for number, line in enumerate(self.text.split("\n")[:-1]) if json.loads(line)["event"] == kind]

    def changed(self, number, old, new, text=None):
        lines = (text or self.text).split("\n")
        self.assertIn(old, lines[number])
        lines[number] = lines[number].replace(old, new, 1)
        return "\n".join(lines)

    def median_changed(self, text):
        """One digit of the median of the first row."""
        number = self.lines_of("row")[0]
        old = re.search(r'"median":[0-9.]*', text.split("\n")[number]).group(0)
        digit = re.search(r"[1-8]", old)
        return number, self.changed(number, old, old[:digit.start()] + str(int(digit.group(0)) + 1) + old[digit.end():], text)

    def test_one_digit_of_a_median(self):
        number, text = self.median_changed(self.text)
        self.expect_refused(text, number + 1, "checksum")
        # Rows pass the checks of a result file's rows, too.
        self.expect_refused(with_right_checksums(text), number + 1, "/row/time_s/median", "changed by hand")

    def test_malformed_events(self):
        for kind, before, after in (("run", '"started":"', '"started":["x"],"y":"'), ("launch", '"environment":{', '"environment":7,"y":{'),
                                    ("launch", '"event":"launch"', '"event":"lunch"'), ("begin", '"launch":0', '"launch":"0"'),
                                    ("row", '"row":{', '"row":[],"y":{'), ("row", '"status":"ok"', '"status":"okay"')):
            with self.subTest(kind=kind, after=after):
                number = self.lines_of(kind)[0]
                self.expect_refused(with_right_checksums(self.changed(number, before, after)), number + 1)

    def test_a_torn_last_line_is_dropped(self):
        last = self.text[:-1].rfind("\n") + 1
        for torn in (last + 5, last + 40, len(self.text) - 2):
            with self.subTest(torn - last):
                done = self.resume(self.text[:torn])
                self.assertEqual(done.returncode, 0, done.stderr)
                self.check_file()


if __name__ == "__main__":
    main(verbosity=2)
