"""Wallet.kt, a wallet made of Multipaz: fetched, compiled, and run beside the tests."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading

from jdk import JAVA_VERSION, find_java

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "harness"))

from patience import PATIENCE  # noqa: E402

# Everything that is fetched or built.
WORK = HERE.parents[2] / "target" / "jvm-wallet"
COPY_ALL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
COMPILER = "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler"


class Multipaz:
    """The wallet in a process of its own, which runs one errand after the other."""

    def __init__(self):
        WORK.mkdir(parents=True, exist_ok=True)
        self.java = find_java()
        classes = self.build()
        self.log = open(WORK / "wallet.log", "w", encoding="utf-8")
        self.process = subprocess.Popen(
            [self.java, "-cp", f"{classes}{os.pathsep}{WORK / 'libraries'}/*", "WalletKt"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
        )

    def build(self):
        """Fetches the libraries and compiles the wallet; gives the folder of classes."""
        libraries, classes = WORK / "libraries", WORK / "classes"
        for made in (libraries, classes):
            shutil.rmtree(made, ignore_errors=True)
        run("mvn", "-q", "-B", f"-Dmaven.repo.local={WORK / 'maven'}", "-f", HERE / "pom.xml", COPY_ALL,
            f"-DoutputDirectory={libraries}", "-DincludeScope=runtime")
        jars = os.pathsep.join(map(str, sorted(libraries.glob("*.jar"))))
        run(self.java, "-cp", jars, COMPILER, "-no-stdlib", "-no-reflect", "-jvm-target", JAVA_VERSION,
            "-cp", jars, "-d", classes, HERE / "Wallet.kt")
        return classes

    def run(self, errand):
        """Where the user is sent, or what went wrong."""
        # One that does not answer would leave the line below waiting for ever.
        timer = threading.Timer(PATIENCE, self.process.kill)
        timer.start()
        try:
            self.process.stdin.write(json.dumps(errand) + "\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline())
        finally:
            timer.cancel()

    def stop(self):
        """Ends it."""
        self.process.communicate(timeout=PATIENCE)
        self.log.close()


def run(*command):
    """Runs to the end; what it said is shown if it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        timeout=10 * PATIENCE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        raise AssertionError(f"{command[0]} failed:\n{done.stdout[-4000:]}")
