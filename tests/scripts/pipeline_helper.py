"""The common part of the tests of ci/ and scripts/reframe: check-jsonschema and ReFrame, which scripts/bootstrap --full
brings into .deps/pipeline."""
import glob
import sys

from run_helper import SOURCE

TOOLS = SOURCE / ".deps" / "pipeline" / "bin"
sys.path += glob.glob(str(SOURCE / ".deps" / "pipeline" / "lib" / "python3*" / "site-packages"))


def tool(name):
    """The program; without it a test fails and says what brings it."""
    program = TOOLS / name
    assert program.exists(), f"{program} is missing: scripts/bootstrap --full brings it"
    return program


def load_yaml(file):
    try:
        from ruamel.yaml import YAML
    except ImportError:
        raise AssertionError("ruamel.yaml is missing: scripts/bootstrap --full brings it into .deps/pipeline") from None
    return YAML(typ="safe").load(file.read_text())
