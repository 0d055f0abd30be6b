"""The wallet in this folder, which is built on irmago: fetched, compiled, and run by the tests. As a program it prints
the missing tool, or nothing if all are installed."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))

from errands import Errands, run  # noqa: E402

# The folder for fetched and built files.
WORK = HERE.parents[2] / "target" / "go-wallet"
# The library needs no C compiler, and no other Go than the machine's.
GO = {"GOPATH": str(WORK / "modules"), "GOCACHE": str(WORK / "cache"), "GOFLAGS": "-modcacherw",
      "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"}
# Go asks the registry once for each module; received modules are kept.
TRIES = 5


class Irmago(Errands):
    """The wallet in a separate process."""

    def __init__(self):
        wallets = WORK / "wallets"
        shutil.rmtree(wallets, ignore_errors=True)
        wallets.mkdir(parents=True)
        fetch()
        wallet = WORK / "wallet"
        run("go", "build", "-mod=readonly", "-o", wallet, ".", cwd=HERE, env=os.environ | GO)
        super().__init__(WORK / "wallet.log", wallet, wallets)


def fetch():
    """Fetches the modules in go.sum."""
    for left in reversed(range(TRIES)):
        try:
            run("go", "mod", "download", cwd=HERE, env=os.environ | GO)
            return
        except AssertionError as why:
            if not left:
                raise unittest.SkipTest(f"irmago cannot be fetched: {str(why).splitlines()[-1]}") from why


def missing():
    """The missing tool as text, or nothing if all are installed."""
    if not shutil.which("go"):
        return "there is no Go"
    wanted = re.search(r"^go (\d+)\.(\d+)", (HERE / "go.mod").read_text(encoding="utf-8"), re.MULTILINE)
    said = subprocess.run(["go", "env", "GOVERSION"], stdout=subprocess.PIPE, text=True, check=False,
                          cwd="/", env=os.environ | GO).stdout
    found = re.match(r"go(\d+)\.(\d+)", said)
    if not found or tuple(map(int, found.groups())) < tuple(map(int, wanted.groups())):
        return f"there is no Go {wanted[1]}.{wanted[2]} or newer"
    return ""


if __name__ == "__main__":
    print(missing())
