"""Installs generators, and the build tools of their clients, below target/. A test is skipped with a message if its tool
cannot be installed."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "harness"))

from patience import PATIENCE  # noqa: E402

FLOWS = HERE / "clients"
# Programs that users copy.
EXAMPLES = ROOT / "examples" / "clients"
# The folder for generated, fetched and built files.
WORK = pathlib.Path(os.environ.get("IDGATE_CLIENTS", ROOT / "target" / "clients"))
NODE = WORK / "node"
GENERATOR = "7.17.0"
OGEN_MODULE = "github.com/ogen-go/ogen@v1.24.0"
OGEN = OGEN_MODULE.replace("@", "/cmd/ogen@")
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
# Also below target/. Without the flag the modules are read-only.
GO = {"GOPATH": str(WORK / "go-modules"), "GOCACHE": str(WORK / "go-cache"), "GOBIN": str(WORK / "bin"),
      "GOFLAGS": "-modcacherw"}
# All Rust clients share it: most of their dependencies are the same.
CARGO = {"CARGO_TARGET_DIR": str(WORK / "cargo"), "CARGO_INCREMENTAL": "0"}


def run(*command, cwd=WORK, cap=5 * PATIENCE, **environment):
    """Runs a command. If it fails, the error shows its output."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **environment},
        timeout=cap,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        raise AssertionError(f"{command[0]} failed:\n{done.stdout[-4000:]}")
    return done.stdout


def needs(*programs):
    """Skips a test with a message if a program is missing."""
    missing = [program for program in programs if not shutil.which(program)]
    return unittest.skipIf(missing, f"there is no {' and no '.join(missing)}")


def installed(name, *command, times=1, **environment):
    """Runs a command that installs a tool. For Go it is repeated: Go asks the registry once for each module and keeps
    those that it received."""
    for left in reversed(range(times)):
        try:
            return run(*command, **environment)
        except AssertionError as why:
            if not left:
                raise unittest.SkipTest(f"{name} cannot be installed: {str(why).splitlines()[-1]}") from why


def fresh(name):
    folder = WORK / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def openapi_generator(generator, description, *options):
    """Runs openapi-generator and returns the folder of its output."""
    jar = WORK / f"openapi-generator-cli-{GENERATOR}.jar"
    if not jar.exists():
        artifact = f"org.openapitools:openapi-generator-cli:{GENERATOR}"
        maven(f"{PLUGIN}:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={WORK}")
    folder = fresh(generator)
    run("java", "-jar", jar, "generate", "-g", generator, "-i", description, "-o", folder,
        "--global-property", "apiTests=false,modelTests=false,apiDocs=false,modelDocs=false", *options)
    return folder


def maven(*arguments):
    installed("what Maven fetches", "mvn", "-q", "-B", f"-Dmaven.repo.local={WORK / 'maven'}", *arguments)


def go_tool(module):
    """Installs the program of a Go module in this version."""
    name = module.partition("@")[0].rpartition("/")[2]
    done = WORK / "bin" / f"{name}-{module.rpartition('@')[2]}"
    if not done.exists():
        installed(name, "go", "install", module, times=5, **GO)
        (WORK / "bin" / name).rename(done)
    return done


def go_build(folder, package="."):
    """Builds the program of a package with the modules that it names."""
    installed("the modules of the Go client", "go", "mod", "tidy", cwd=folder, times=5, **GO)
    run("go", "build", "-o", "walk", package, cwd=folder, **GO)
    return folder / "walk"


def go_flow(flow, *modules):
    """Makes a Go module with this program and these requirements, and a separate folder for its client. Returns both
    folders."""
    folder = fresh(flow.removesuffix(".go"))
    (folder / "client").mkdir()
    (folder / "go.mod").write_text("module flow\n\ngo 1.24\n", encoding="utf-8")
    for module in modules:
        installed(module, "go", "get", module, cwd=folder, times=5, **GO)
    shutil.copy(FLOWS / flow, folder / "main.go")
    return folder, folder / "client"


def go_example(url):
    """The folder with the Go example's programs and a client generated from the gateway at this address."""
    folder = WORK / "example-go"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(EXAMPLES / "go", folder, ignore=shutil.ignore_patterns("client.go"))
    generate = (folder / "client/generate.go").read_text(encoding="utf-8")
    go_tool(re.search(r"^//go:generate go run (\S+)", generate, re.MULTILINE)[1])
    installed("the modules of the Go example", "go", "mod", "download", cwd=folder, times=5, **GO)
    run("go", "generate", "./...", cwd=folder, GATEWAY_URL=url, **GO)
    (folder / "bin").mkdir()
    run("go", "build", "-o", folder / "bin", "./verify", "./receive", cwd=folder, **GO)
    return folder / "bin"


def java_example(url, *edits):
    """The class path of the Java example's programs, with a client generated from the gateway at this address. Each
    edit is a file and a pattern of lines to remove."""
    folder = WORK / "example-java"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(EXAMPLES / "java", folder, ignore=shutil.ignore_patterns("target"))
    for name, lines in edits:
        file = folder / name
        text, found = re.subn(rf"^.*{lines}.*\n", "", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
        if not found:
            raise AssertionError(f"{name} has no line with {lines}")
        file.write_text(text, encoding="utf-8")
    maven(f"{PLUGIN}:go-offline", "-f", folder / "pom.xml")
    run("mvn", "-q", "-B", f"-Dmaven.repo.local={WORK / 'maven'}", "compile", cwd=folder, GATEWAY_URL=url)
    return f"{folder / 'target/classes'}{os.pathsep}{folder / 'target/libraries'}/*"


def cargo_flow(flow):
    """Makes a package with this program and manifest, and returns its folder."""
    folder = fresh(flow)
    (folder / "src").mkdir()
    shutil.copy(FLOWS / f"{flow}.rs", folder / "src/main.rs")
    shutil.copy(FLOWS / f"{flow}.toml", folder / "Cargo.toml")
    return folder


def cargo_build(folder):
    installed("the crates of the Rust client", "cargo", "fetch", cwd=folder, times=3, **CARGO)
    # More than a hundred packages, on a machine that may be busy.
    run("cargo", "build", "--quiet", cwd=folder, cap=30 * PATIENCE, **CARGO)
    # The next package has a program with this name.
    return shutil.copy(WORK / "cargo/debug/flow", folder / "walk")


def node_packages():
    """Installs the packages in package-lock.json, once."""
    lock = HERE / "package-lock.json"
    there = NODE / "installed-lock.json"
    if there.exists() and there.read_bytes() == lock.read_bytes():
        return
    NODE.mkdir(exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, NODE)
    installed("what npm fetches", "npm", "ci", "--no-audit", "--no-fund", cwd=NODE)
    shutil.copy(lock, there)
