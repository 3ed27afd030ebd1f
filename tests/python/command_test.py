"""python -m holdfast is the command; type hints hold; the bench runs."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Dict

import holdfast

BINDINGS = Path(__file__).resolve().parents[2] / "bindings" / "python"


class CommandTest(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = tempfile.mkdtemp(prefix="holdfast-python-")
        self.addCleanup(shutil.rmtree, self.directory)

    def command(self, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        variables: Dict[str, str] = {**os.environ, "XDG_STATE_HOME": self.directory, **environment}
        return subprocess.run(
            [sys.executable, "-m", "holdfast", *arguments], env=variables, capture_output=True, text=True, timeout=40
        )

    def test_the_module_is_the_command(self) -> None:
        done = self.command("run", "x", "--", "sh", "-c", "echo token $HOLDFAST_TOKEN; exit 7")
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertRegex(done.stdout, "^token [0-9]+$")

    def test_it_is_found_in_the_path(self) -> None:
        os.symlink(os.environ["HOLDFAST_COMMAND"], self.directory + "/holdfast")
        done = self.command("--version", HOLDFAST_COMMAND="", PATH=self.directory)
        self.assertIn(holdfast.__version__, done.stdout)

    def test_a_command_that_is_absent_is_said_to_be(self) -> None:
        done = self.command("run", "x", "--", "true", HOLDFAST_COMMAND="", PATH="/nowhere")
        self.assertEqual(done.returncode, 1)
        self.assertIn("not in PATH", done.stderr)
        done = self.command("run", "x", "--", "true", HOLDFAST_COMMAND="/nowhere/holdfast")
        self.assertIn("cannot run /nowhere/holdfast", done.stderr)

    def test_a_process_that_forgets_its_lease_ends(self) -> None:
        """Callbacks may come while the interpreter ends."""
        program = (
            "import holdfast, threading, sys\n"
            "client = holdfast.open(sys.argv[1])\n"
            "lease = client.mutex('x', ttl=0.1, auto_renew=False).acquire()\n"
            "lost = lease.lost\n"
            "threading.Thread(target=client.mutex('x').acquire, daemon=True).start()\n"
        )
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", program, f"sqlite://{self.directory}/locks.db"],
            capture_output=True,
            text=True,
            timeout=40,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    @unittest.skipUnless(shutil.which("mypy"), "mypy is not installed (Debian: mypy)")
    def test_type_hints_and_stub_hold(self) -> None:
        package = BINDINGS / "src" / "holdfast"
        self.assertTrue((package / "py.typed").exists())
        targets = [str(package), str(BINDINGS / "bench"), str(Path(__file__).parent)]
        targets.append(str(BINDINGS.parents[1] / "examples"))
        for target in targets:
            done = subprocess.run(
                ["mypy", "--strict", "--no-error-summary", "--cache-dir", self.directory, target],
                env={**os.environ, "MYPYPATH": str(BINDINGS / "src"), "PYTHONPATH": ""},
                capture_output=True,
                text=True,
            )
            self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        wrong = Path(self.directory) / "wrong.py"
        wrong.write_text("import holdfast\nholdfast.open().mutex('x').acquire(timeout='soon')\n")
        done = subprocess.run(
            ["mypy", "--strict", "--cache-dir", self.directory, str(wrong)],
            env={**os.environ, "MYPYPATH": str(BINDINGS / "src"), "PYTHONPATH": ""},
            capture_output=True,
            text=True,
        )
        self.assertIn("arg-type", done.stdout)


if __name__ == "__main__":
    unittest.main()
