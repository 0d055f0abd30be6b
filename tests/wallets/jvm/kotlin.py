"""Wallets in Kotlin: fetched, compiled, and run by the tests."""

import functools
import os
import pathlib
import shutil
import sys

from jdk import JAVA_VERSION, find_java

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))

from errands import Errands, run  # noqa: E402

# The folder for fetched and built files.
WORK = HERE.parents[2] / "target" / "jvm-wallet"
COPY_ALL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
COMPILER = "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler"


class KotlinWallet(Errands):
    """The wallet of a folder with its sources and pom.xml, in a separate process."""

    def __init__(self, sources):
        libraries, classes = built(sources)
        super().__init__(WORK / f"{sources.name}.log", find_java(), "-cp", f"{classes}{os.pathsep}{libraries}/*",
                         "WalletKt")


@functools.cache
def built(sources):
    """Fetches the libraries and compiles the wallet, once. Returns the folders of both."""
    libraries, classes = WORK / sources.name / "libraries", WORK / sources.name / "classes"
    for made in (libraries, classes):
        shutil.rmtree(made, ignore_errors=True)
    WORK.mkdir(parents=True, exist_ok=True)
    run("mvn", "-q", "-B", f"-Dmaven.repo.local={WORK / 'maven'}", "-f", sources / "pom.xml", COPY_ALL,
        f"-DoutputDirectory={libraries}", "-DincludeScope=runtime")
    jars = os.pathsep.join(map(str, sorted(libraries.glob("*.jar"))))
    run(find_java(), "-cp", jars, COMPILER, "-no-stdlib", "-no-reflect", "-jvm-target", JAVA_VERSION,
        "-cp", jars, "-d", classes, *sorted(sources.glob("*.kt")))
    return libraries, classes


def multipaz():
    """The wallet on Multipaz."""
    return KotlinWallet(HERE / "multipaz")


def eudi():
    """The receiving half of a wallet, on the EUDI library."""
    return KotlinWallet(HERE / "eudi")
