#!/usr/bin/env python3
"""The journal of a run at work is taken away: the run ends with a message, hangs nowhere, and reports no result that is not its own."""
import json
import os
import shutil

from run_helper import DEADLINE, SMALL, RunTest, group, main


class JournalSwapped(RunTest):
    def swapped(self, swap):
        """The messages after `swap` was called between the first row and the last."""
        problems = [SMALL.replace("mb1", f"mb{batch}") for batch in range(1, 13)]
        suite = self.suite([group(["direct"], problems, backend="reference")])
        process = self.start_suite(suite, "--max-time", 0.3)
        self.wait_until(lambda: len(self.journal_rows()) >= 1, process)
        swap(self.out / "journal.jsonl")
        code = process.wait(timeout=DEADLINE)
        said = (self.folder / "stderr.txt").read_text()
        self.assertIn(code, (2, 7), said)
        self.assertIn("journal", said)
        self.assertEqual(self.children_at_work(), [])
        return said

    def test_by_a_pipe(self):
        def swap(journal):
            journal.rename(journal.with_suffix(".old"))
            os.mkfifo(journal)
        self.swapped(swap)
        self.assertFalse((self.out / "result.json").exists())

    def test_by_a_link_to_a_pipe(self):
        def swap(journal):
            os.mkfifo(self.folder / "pipe")
            link = self.folder / "link"
            link.symlink_to(self.folder / "pipe")
            os.replace(link, journal)
        self.swapped(swap)
        self.assertFalse((self.out / "result.json").exists())

    def test_by_another_file(self):
        notes = self.folder / "notes"

        def swap(journal):
            notes.write_text("of somebody\n")
            os.replace(shutil.copy(notes, self.folder / "copy"), journal)
        self.swapped(swap)
        self.assertFalse((self.out / "result.json").exists())
        self.assertTrue((self.out / "journal.jsonl").read_text().startswith("of somebody\n"))

    def test_by_nothing(self):
        self.swapped(lambda journal: journal.unlink())
        self.assertFalse((self.out / "result.json").exists())

    def test_by_the_journal_of_another_run(self):
        own = self.out
        other = self.out = self.folder / "other"
        self.run_suite(self.suite([group(["direct"], [SMALL], backend="reference")], name="other"), code=0)
        for how in (lambda journal: os.replace(shutil.copy(other / "journal.jsonl", self.folder / "copy"), journal),
                    lambda journal: shutil.copy(other / "journal.jsonl", journal)):  # one keeps the inode
            self.out = own = own.with_name(own.name + "x")
            self.swapped(how)
            self.assertFalse((own / "result.json").exists(), "the result of another run")


if __name__ == "__main__":
    main(verbosity=2)
