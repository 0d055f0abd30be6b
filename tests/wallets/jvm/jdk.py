"""The JDK for the wallets. As a program it prints the missing parts, or nothing if it is complete."""

import os
import pathlib
import re
import shutil
import subprocess

# The version that Multipaz is compiled for.
JAVA_VERSION = 21


def find_java():
    """A `java` that is new enough: from JAVA_HOME, PATH, or the folders of Debian."""
    homes = [os.environ.get("JAVA_HOME"), *pathlib.Path("/usr/lib/jvm").glob("*")]
    places = [pathlib.Path(home, "bin", "java") for home in homes if home]
    for java in [*places, shutil.which("java")]:
        if java and os.access(java, os.X_OK) and version(java) >= JAVA_VERSION:
            return str(java)
    return None


def version(java):
    """Its feature version."""
    said = subprocess.run([java, "-version"], stderr=subprocess.PIPE, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', said)
    return int(found[1]) if found else 0


def missing():
    """The missing parts as text, or nothing if all are installed."""
    if not shutil.which("mvn"):
        return "there is no mvn"
    return "" if find_java() else f"there is no JDK {JAVA_VERSION} or newer"


if __name__ == "__main__":
    print(missing())
