#!/usr/bin/env python3
# full, alone
"""Tests of blame: a delayed rank, a hog beside a rank and a shaped link are told from each other, in trainings and
collectives."""
import json
import unittest

from run_helper import ASSAY, RunTest, main
import blame

TRAINING = (*blame.TRAIN, "--max-time", 3)
COLLECTIVES = (*blame.COLLECTIVE, "--max-time", 10)
TRIES = 5  # other work on the machine is a hog, too, and may be blamed rightly, or hide what a test does


@unittest.skipIf(blame.why_not_two(), f"unsupported: {blame.why_not_two()}")
class Ranks(RunTest):
    def row(self, words, **fault):
        self.file = self.folder / "row.json"
        self.file.unlink(missing_ok=True)
        row = blame.two_ranks(words, self.file, **fault)
        self.command(ASSAY, "validate", self.file, code=0)
        self.assertEqual([rank["place"] for rank in row["blame"]["ranks"]], [f"processors {number}" for number in blame.PROCESSORS[:2]])
        return row

    def expect_blamed(self, rank, how, make_row):
        for _ in range(TRIES):
            row = make_row()
            said = [(one["rank"], one["did"], one["how"]) for one in row["blame"]["blamed"]]
            if said == [(rank, "compute", how)]:
                break
        if not said and row["blame"]["undecided"]:
            self.skipTest(f"other work on the machine hides it: {row['blame']['undecided']}")
        self.assertEqual(said, [(rank, "compute", how)], row["blame"])
        text = self.command(ASSAY, "table", self.file, "--blame", code=0).stdout
        self.assertIn(how, text)
        self.assertIn(f"processors {blame.PROCESSORS[rank]}", text)

    def test_a_delayed_rank(self):
        for words, rank in ((TRAINING, 1), (TRAINING, 0), (COLLECTIVES, 1)):
            with self.subTest(words[0], rank=rank):
                self.expect_blamed(rank, blame.STOPPED, lambda: self.row(words, slow=rank, share=0.4))

    def test_a_hog_beside_a_rank(self):
        for words, rank in ((TRAINING, 1), (TRAINING, 0), (COLLECTIVES, 1)):
            with self.subTest(words[0], rank=rank), blame.hog(blame.PROCESSORS[rank]):
                self.expect_blamed(rank, blame.HOGGED, lambda: self.row(words))

    def test_equal_ranks_are_not_blamed(self):
        for words in (blame.DECIDED, COLLECTIVES):
            with self.subTest(words[0]):
                self.file = self.folder / "row.json"
                for _ in range(2):  # one job in a hundred is blamed by chance
                    self.file.unlink(missing_ok=True)
                    row = blame.two_ranks(words, self.file, equal=True)
                    if not row["blame"]["blamed"]:
                        break
                self.assertEqual(row["blame"]["blamed"], [])
                text = self.command(ASSAY, "table", self.file, "--blame", code=0).stdout
                self.assertRegex(text, "(nobody|undecided) in " + row["blame"]["of"])
                self.assertEqual(" runs; about " in text, row["blame"]["undecided"] is not None)
                ranks = self.command(ASSAY, "table", self.file, "--blame", "--format", "csv", code=0).stdout.splitlines()
                self.assertEqual(len(ranks), 3)
                self.assertEqual(row["blame"]["clock_error_s"], 0)

    def test_what_does_not_tell_says_so(self):
        self.file = self.folder / "row.json"
        row = blame.two_ranks((*TRAINING, "--parallel", "stale:1"), self.file)
        self.assertIn("stale:1", row["blame"]["unsupported"])
        for collective in ("broadcast", "reduce", "sendrecv"):
            told = blame.two_ranks((*COLLECTIVES, "--collective", collective), self.folder / f"{collective}.json")
            self.assertIn("not all ranks wait", told["blame"].get("unsupported", ""))
        self.assertIn("unsupported: ", self.command(ASSAY, "table", self.file, "--blame", code=0).stdout)
        alone = ("assay-kmeans", "--problem", "n20000d20", "--threads", 1, "--backend", "native", "--max-time", 0.2)
        alone = blame.two_ranks(alone, self.folder / "kmeans.json")
        self.assertIn("do not tell", alone["blame"]["unsupported"])

    def test_a_file_that_blames_another_rank_is_refused(self):
        row = self.row(COLLECTIVES, slow=1, share=0.4)
        document = json.loads(self.file.read_text())
        for name, edit in (("blamed", lambda of: of["blamed"].append({"rank": 0, "host": "h", "place": "p", "did": "compute", "how": "h",
                                                                     "cost_s": 1, "cost": 0.1})),
                           ("cost_s", lambda of: of["ranks"][1].update(cost_s=2 * of["seconds"], high_s=3 * of["seconds"])),
                           ("resolution", lambda of: of.update(resolution=1)), ("wait_s", lambda of: of.update(network_s=of["seconds"]))):
            document["rows"][0]["blame"] = json.loads(json.dumps(row["blame"]))
            edit(document["rows"][0]["blame"])
            self.file.write_text(json.dumps(document))
            done = self.command(ASSAY, "validate", self.file)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("/blame/", done.stdout + done.stderr)
            self.assertIn(name, done.stdout + done.stderr)


@unittest.skipIf(blame.why_not(), f"unsupported: {blame.why_not()}")
class Links(RunTest):
    """The links alone are judged: four hosts share two processors, of which one may have less."""

    def test_a_shaped_link(self):
        for words, network in ((blame.TRAIN_SMALL, "the launcher's"), (blame.COLLECTIVE_LONG, "mpi")):
            with self.subTest(words[0]):
                of = blame.four_hosts((*words, "--max-time", 4), blame.HOSTS[2])["blame"]
                self.assertEqual([link["link"] for link in of["links"]["slow"]], [blame.HOSTS[2]], of)
                self.assertEqual(of["links"]["network"], network)
                links = [(one["host"], one["did"], one["place"]) for one in of["blamed"] if one["rank"] is None]
                # A rank of its host that costs more, since it had no processor, may make its messages slow.
                cost = of["network_s"] * (1 - 1 / of["links"]["slow"][0]["ratio"])
                dearer = [one for one in of["blamed"] if one["rank"] is not None and one["host"] == blame.HOSTS[2] and one["cost_s"] >= cost]
                self.assertEqual(links, [] if dearer else [(blame.HOSTS[2], "network", "link")], of)

    def test_equal_links(self):
        row = blame.four_hosts((*blame.COLLECTIVE_LONG, "--max-time", 4))
        self.assertEqual([one for one in row["blame"]["blamed"] if one["rank"] is None], [], row["blame"])
        self.assertGreater(row["blame"]["links"]["typical_s"], 0)
        self.assertEqual(row["blame"]["links"]["slow"], [])
        self.assertGreater(row["blame"]["clock_error_s"], 0)


if __name__ == "__main__":
    main(verbosity=2)
