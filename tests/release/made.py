"""The artefacts under test, and empty root folders for them.

IDGATE_RELEASE names a folder that release/build.sh filled. Without it the packagers package the program and the library
that were built for the tests (IDGATE_BIN, target/release). The layout is the same, but the program is not static, so
tests that need an empty root are skipped.
"""

import atexit
import functools
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RELEASE = os.environ.get("IDGATE_RELEASE")
BUILT = pathlib.Path(os.environ.get("IDGATE_BIN", ROOT / "target/release/idgate"))
ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
MUSL, GNU = (f"{platform.machine()}-unknown-linux-{libc}" for libc in ("musl", "gnu"))
TIME = 1_790_000_000
VERSION = next(
    line.split('"')[1]
    for line in (ROOT / "Cargo.toml").read_text(encoding="utf-8").splitlines()
    if line.startswith("version = ")
)

sys.path.insert(0, str(ROOT / "release"))


def run(*command, **more):
    """Runs a command and returns its output. If it fails, the error shows the output."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, **more)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def package(script, folder, *more):
    """Runs one packager of release/ on the files in the folder."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(TIME)}
    run(sys.executable, ROOT / "release" / script, folder, VERSION, *more, env=environment)


def stand_in(folder):
    """A folder like that of release/program.sh and libraries.sh, with files built for the tests. Nothing runs the program,
    so a part of it is enough. The library is complete."""
    if not BUILT.exists() or not shutil.which("strip"):
        raise unittest.SkipTest(f"{BUILT} is not built, or there are no binutils")
    program = folder / "build" / MUSL / "idgate"
    program.parent.mkdir(parents=True)
    with BUILT.open("rb") as whole:
        program.write_bytes(whole.read(1 << 18))
    run(BUILT, "manual", folder / "build" / "manual")
    library = folder / "build" / GNU / "libidgate_ffi.so"
    library.parent.mkdir()
    run("strip", "-o", library, BUILT.with_name(library.name))
    # An empty archive: programs of the tests link the other one.
    library.with_suffix(".a").write_bytes(b"!<arch>\n")


@functools.cache
def folder():
    """The folder with the artefacts."""
    if RELEASE:
        return pathlib.Path(RELEASE).resolve()
    made = pathlib.Path(tempfile.mkdtemp(prefix="idgate-release-"))
    atexit.register(shutil.rmtree, made)
    stand_in(made)
    return made


def artefact(name, script, *more):
    """The artefact with this name. Without a release it is made now."""
    file = folder() / name
    if not RELEASE and not file.exists():
        package(script, folder(), *more)
    if not file.exists():
        raise AssertionError(f"{file} is not there")
    return file


def same_again(test, name, script, *more):
    """Whether two runs in folders with different names give the same bytes."""
    made = []
    for _ in range(2):
        with tempfile.TemporaryDirectory() as place:
            place = pathlib.Path(place)
            (place / "build").symlink_to(folder() / "build")
            package(script, place, *more)
            made.append((place / name).read_bytes())
    test.assertTrue(made[0] == made[1], f"{name} is not made twice in the same way")
    return made[0]


def needs_static():
    """Skips a test that runs the program in an empty root."""
    if not RELEASE:
        raise unittest.SkipTest("IDGATE_RELEASE is not set: the program of the tests is not static")
    if os.geteuid() != 0:
        raise unittest.SkipTest("only root can change its root")
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode != 0:
        raise unittest.SkipTest("no mount namespace can be had here")


def inside(root, user, *command, writable=("tmp",)):
    """Runs a command as an unprivileged user in a read-only root, with writable folders in memory."""
    mounts = [f'mount --bind "{root}" "{root}"', f'mount -o remount,ro,bind "{root}"']
    mounts += [f'mount -t tmpfs -o uid={user},mode=700 none "{root}/{path}"' for path in writable]
    script = " && ".join([*mounts, f'exec "$@"'])
    changed = ["chroot", f"--userspec={user}:{user}", str(root), *command]
    return run("unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", *changed)
