"""The quick start leaves no trace: whoever imports a module that stood aside gets the real one, in any version."""

import subprocess
import sys

import pytest

PROGRAMS = {
    "the real modules come afterwards": """
import slowwave.cli.quick as quick
quick.import_pathlib(); quick.import_msgspec()
import pathlib, platform, urllib.parse, uuid, typing_extensions
assert platform.python_version() and urllib.parse.quote("a b") == "a%20b" and typing_extensions.TypedDict
assert pathlib.Path("/a b").as_uri() == "file:///a%20b" and uuid.uuid4().version == 4
""",
    "addresses are right also while the stand-in was taken": """
import slowwave.cli.quick as quick
quick.import_pathlib()
import pathlib
assert pathlib.Path("/a b/é").as_uri() == "file:///a%20b/%C3%A9"
""",
    "a module that takes more gets the real one": """
import sys, types, importlib.machinery
import slowwave.cli.quick as quick
class Finder:
    def find_spec(self, name, path, target=None):
        if name == "wants_more":
            return importlib.machinery.ModuleSpec(name, self)
    def create_module(self, spec): return None
    def exec_module(self, module):
        import platform
        module.value = platform.machine()
sys.meta_path.insert(0, Finder())
assert "platform" not in sys.modules
quick._import("wants_more", "platform", types.ModuleType("platform"))
assert sys.modules["wants_more"].value
""",
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_quick_start(program: str):
    done = subprocess.run([sys.executable, "-S", "-c", _PATH + program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


# without the site module, whose start-up files of other packages may import anything before
_PATH = f"import sys; sys.path[:0] = {sys.path!r}\n"
