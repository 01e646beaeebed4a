#!/usr/bin/env python3
"""Compiles for a copy of the tree: reuse_object.py KNOWN COMPILER ARGUMENTS... copies the object of the build under test where that was
made by the same command of files with the same bytes, as a compiler cache would; anything else is compiled, without optimisation.
KNOWN is a file of tree_copy_helper.py: folders, commands and dependencies of the build under test."""
import filecmp
import json
import os
import shutil
import subprocess
import sys


class Known:
    def __init__(self, file):
        with open(file) as text:
            whole = json.load(text)
        self.folders, self.objects = whole["folders"], whole["objects"]  # folders: [of the build under test, of the copy], builds first
        self.build = self.folders[0][0]

    def there(self, text):
        """A path of the copy as the build under test has it."""
        for original, copy in self.folders:
            text = text.replace(copy, original)
        return text

    def here(self, text):
        for original, copy in self.folders:
            text = text.replace(original, copy)
        return text

    def same(self, name, arguments):
        """The object of the build under test and its dependencies, if compiling would make the same."""
        known = self.objects.get(name)
        if known is None or [self.there(word) for word in arguments] != known["command"]:
            return None
        made = os.path.join(self.build, name)
        for file in known["dependencies"]:
            original = os.path.join(self.build, file)
            copy = self.here(original)
            if os.stat(original).st_mtime_ns > os.stat(made).st_mtime_ns:
                return None  # edited and not built
            if copy != original and not (os.path.exists(copy) and filecmp.cmp(original, copy, shallow=False)):
                return None
        return made, known["dependencies"]


def main():
    known, compiler = Known(sys.argv[1]), sys.argv[2:]
    arguments, files = [], {}
    words = iter(compiler[1:])
    for word in words:
        if word in ("-MT", "-MF"):
            files[word] = next(words)
        elif word != "-MD":
            arguments.append(word)
    name = arguments[arguments.index("-o") + 1]
    found = known.same(name, arguments)
    if found is None:
        print(f"compiles {name}")
        sys.exit(subprocess.run([*compiler, "-O0"]).returncode)
    shutil.copyfile(found[0], name)
    with open(files["-MF"], "w") as rule:
        rule.write(" \\\n ".join([f"{name}:", *map(known.here, found[1])]) + "\n")


if __name__ == "__main__":
    main()
