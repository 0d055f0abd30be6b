"""The world of one page: a separate folder that contains the clone, and one shell."""

from __future__ import annotations

import os
import pathlib
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

from blocks import ROOT, commands, pattern

sys.path.insert(0, str(ROOT / "tests" / "harness"))

import patience  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
#: The folder of `idgate`, the libraries and the example programs that the test run built.
BUILT = pathlib.Path(os.environ.get("DOCS_BUILT", ROOT / "target/release"))
WHEELS = pathlib.Path(os.environ.get("DOCS_WHEELS", ROOT / "target/wheels"))
#: Whether programs in Rust are built from nothing, as for a reader. Otherwise those of the test run are used.
LONG = "IDGATE_LONG" in os.environ
#: A word that ends in `…` is replaced by the last printed word with the same beginning.
PLACEHOLDER = re.compile(r"((?:[a-z]+_)+|[a-z][a-z0-9-]*://\?|response_code=)…")
LINK, WORD = r"""[^\s"'…]+""", r"[A-Za-z0-9_+/=-]+"
NOT_CLONED = {".git", "target", "node_modules"}


class World:
    def __init__(self) -> None:
        if not (BUILT / "idgate").exists():
            raise AssertionError(f"no idgate in {BUILT}: cargo build --release, or say where by DOCS_BUILT")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="idgate-docs-"))
        self.clone = self.folder / "idgate"
        self.clone.mkdir()
        for entry in ROOT.iterdir():
            if entry.name not in NOT_CLONED:
                (self.clone / entry.name).symlink_to(entry)
        (self.clone / "target").mkdir()
        (self.clone / "target/release").symlink_to(BUILT)
        self.state = self.folder / "state"
        for name in ("state", "tmp", "home"):
            (self.folder / name).mkdir()
        #: The output of the shell and of other programs.
        self.told, self.told_beside, self.waiting = "", "", []
        #: The longest wait for output. It is long enough for a build if programs are built.
        self.patience = 20 * patience.PATIENCE if LONG else patience.PATIENCE
        #: Programs that end with the page.
        self.endings: list = []
        #: Text on the page -> its replacement.
        self.replaced: dict[str, str] = {}
        #: Returns an unanswered link for pages that assume one.
        self.fresh_link = None
        self.shell = subprocess.Popen(
            ["bash", "--noprofile", "--norc"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=self.clone, env=self.environment(),
            start_new_session=True,
        )
        self.listener = threading.Thread(target=self._listen, args=(self.shell.stdout,), daemon=True)
        self.listener.start()

    def environment(self) -> dict[str, str]:
        """The environment of a machine without any setting for idgate."""
        outside = {name: value for name, value in os.environ.items()
                   if not re.match(r"(IDGATE|OID4VP|PKG_CONFIG|LD_LIBRARY|PYTHON|CARGO_TARGET)", name)}
        return outside | {
            "PATH": f"{HERE / 'bin'}:{outside['PATH']}",
            "HOME": str(self.folder / "home"),
            "CARGO_HOME": outside.get("CARGO_HOME", str(pathlib.Path.home() / ".cargo")),
            "RUSTUP_HOME": outside.get("RUSTUP_HOME", str(pathlib.Path.home() / ".rustup")),
            "TMPDIR": str(self.folder / "tmp"),
            "npm_config_offline": "true",
            "npm_config_audit": "false",
            "npm_config_fund": "false",
            "DOCS_IDGATE": str(BUILT / "idgate"),
            "DOCS_WORLD": str(self.state),
            "DOCS_PATIENCE": os.environ.get("IDGATE_TEST_PATIENCE", ""),
            "DOCS_CARGO": shutil.which("cargo") or "cargo",
            "DOCS_PYTHON": os.environ.get("IDGATE_PYTHON") or shutil.which("python3") or "python3",
            "DOCS_WHEELS": str(WHEELS),
            "DOCS_QUICK_START": "" if LONG else str(BUILT / "quick_start"),
        }

    def _listen(self, stream) -> None:
        while read := os.read(stream.fileno(), 65536):
            self.told += read.decode(errors="replace")

    def close(self) -> None:
        for end in self.endings:
            end()
        for process in self.waiting:
            process.kill()
            process.wait()
        for file in self.state.glob("*.pid"):
            try:
                os.killpg(int(file.read_text()), signal.SIGKILL)
            except ProcessLookupError:
                pass
        os.killpg(self.shell.pid, signal.SIGKILL)
        self.shell.wait()
        self.shell.stdin.close()
        self.listener.join()
        self.shell.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def fill(self, command: str) -> str:
        """The command with the values that a reader would insert."""
        for text, here in self.replaced.items():
            command = command.replace(text, here)

        def value(found: re.Match[str]) -> str:
            begin = found[1]
            is_link = "://" in begin
            if is_link and self.fresh_link:
                return self.fresh_link(begin)
            looked_for = re.escape(begin) + (LINK if is_link else WORD)
            printed = self.wait_for(lambda: re.findall(looked_for, self.told + self.told_beside))
            if not printed:
                raise AssertionError(f"nothing that begins with {begin} was printed, for: {command}")
            return printed[-1]

        return PLACEHOLDER.sub(value, command)

    def wait_for(self, look, seconds: float | None = None):
        """Waits until `look` finds something, and returns it."""
        return patience.found_by(look, self.patience if seconds is None else seconds)

    def run(self, command: str) -> tuple[str, int]:
        """The output of one command, and its exit code."""
        before, mark = len(self.told), f"--end-{secrets.token_hex(8)}--"
        self.shell.stdin.write(f"{self.fill(command)}\nprintf '%s%d\\n' {mark} $? </dev/null\n".encode())
        self.shell.stdin.flush()
        ended = self.wait_for(lambda: re.search(rf"{mark}(\d+)\n", self.told[before:]), patience.PATIENCE)
        if not ended:
            raise AssertionError(f"does not end: {command}\n{self.told[before:]}")
        output = self.told[before : before + ended.start()]
        self.told = self.told[:before] + output
        return output, int(ended[1])

    def run_all(self, text: str) -> None:
        for command in commands(text):
            output, code = self.run(command)
            if code != 0:
                raise AssertionError(f"ends with {code}: {command}\n{output}")

    def leave_waiting(self, command: str, expected: str):
        """Starts a command that waits. The returned function checks its output."""
        folder, _ = self.run("pwd")
        environment, _ = self.run("env -0 | tr '\\0' '\\n'")
        kept = dict(line.split("=", 1) for line in environment.splitlines() if "=" in line)
        # Compiler warnings are not output of the program.
        with (self.state / "stderr").open("ab") as errors:
            process = subprocess.Popen(["bash", "-c", self.fill(command)], cwd=folder.strip(), env=kept,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors)
        self.waiting.append(process)
        printed = ""

        def listen() -> None:
            nonlocal printed
            with process.stdout:
                while read := os.read(process.stdout.fileno(), 65536):
                    printed += read.decode(errors="replace")
                    self.told_beside += read.decode(errors="replace")

        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        first = pattern(expected.split("\n", 1)[0])

        def begun():
            return first.match(printed) or process.poll() is not None

        if not self.wait_for(begun) or process.poll() is not None:
            told = (self.state / "stderr").read_text(errors="replace")
            raise AssertionError(f"does not begin as shown: {command}\n{printed}{told}")

        def check() -> None:
            if not self.wait_for(lambda: process.poll() is not None):
                raise AssertionError(f"goes on: {command}\n{printed}")
            listener.join()
            if process.returncode != 0 or not pattern(expected).fullmatch(printed.rstrip() + "\n"):
                raise AssertionError(f"{command}\nprinted ({process.returncode})\n{printed}\nand not\n{expected}")

        return check
