"""Clients that generators make of the served description walk a whole verification."""

import os
import pathlib
import shutil
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "wallets" / "python"))

from gateway import PATIENCE, Gateway, urllib  # noqa: E402
from sd_jwt.common import SDObj  # noqa: E402
from wallet import Issuer, Wallet, read_request  # noqa: E402

FLOWS = HERE / "clients"
# Everything that is generated, fetched or built.
WORK = pathlib.Path(os.environ.get("IDGATE_CLIENTS", ROOT / "target" / "clients"))
NODE = WORK / "node"
GENERATOR = "7.17.0"
JAR = WORK / f"openapi-generator-cli-{GENERATOR}.jar"
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
COPY_ALL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"


def run(*command, cwd=WORK, **environment):
    """Runs to the end; what it said is shown if it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **environment},
        timeout=5 * PATIENCE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        raise AssertionError(f"{command[0]} failed:\n{done.stdout[-4000:]}")
    return done.stdout


def needs(*programs):
    """Skips a test, with a word, where a program is missing."""
    missing = [program for program in programs if not shutil.which(program)]
    return unittest.skipIf(missing, f"there is no {' and no '.join(missing)}")


def maven(*arguments):
    return run("mvn", "-q", "-B", f"-Dmaven.repo.local={WORK / 'maven'}", *arguments)


def go_tidy(folder, environment, times=5):
    """Repeats the command, for Go asks only once for each module. It keeps the modules that it has."""
    for left in reversed(range(times)):
        try:
            return run("go", "mod", "tidy", cwd=folder, **environment)
        except AssertionError:
            if not left:
                raise


class ClientsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        WORK.mkdir(parents=True, exist_ok=True)
        cls.issuer = Issuer("https://issuer.example", "urn:example:id")
        cls.wallet = Wallet()
        cls.gateway, cls.description = cls.serve("draft,1.0")

    @classmethod
    def serve(cls, profiles):
        """A gateway that speaks `profiles`, and its description of itself."""
        gateway = Gateway([cls.issuer], test=True, settings={"IDGATE_PROFILES": profiles})
        cls.addClassCleanup(gateway.stop)
        with urllib.request.urlopen(f"{gateway.url}/api/openapi.json", timeout=PATIENCE) as answer:
            description = WORK / f"openapi-{profiles}.json"
            description.write_bytes(answer.read())
        return gateway, description

    def generate(self, generator, *options):
        """Runs openapi-generator; gives the folder that it filled."""
        if not JAR.exists():
            artifact = f"org.openapitools:openapi-generator-cli:{GENERATOR}"
            maven(COPY, f"-Dartifact={artifact}", f"-DoutputDirectory={WORK}")
        folder = fresh(generator)
        run("java", "-jar", JAR, "generate", "-g", generator, "-i", self.description, "-o", folder,
            "--global-property", "apiTests=false,modelTests=false,apiDocs=false,modelDocs=false",
            *options)
        return folder

    def walk(self, *command, cwd=WORK, **environment):
        """Has the client ask, answers as a wallet, and hears what the client then read."""
        process = subprocess.Popen(
            [str(part) for part in command],
            cwd=cwd,
            env={
                **os.environ,
                "IDGATE_URL": self.gateway.url,
                "IDGATE_API_KEY": self.gateway.api_key,
                "ISSUER_ID": self.issuer.issuer_id,
                **environment,
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        with process:
            self.addCleanup(process.kill)
            request = read_request(process.stdout.readline().strip())
            credential = self.issuer.issue(self.wallet, {SDObj("given_name"): "Erika"})
            shown = self.wallet.present(credential, {"given_name": True}, request)
            self.assertEqual(self.wallet.answer(request, [shown])[0], 200)
            told, _ = process.communicate("answered\n", timeout=5 * PATIENCE)
        self.assertEqual((process.returncode, told.split()), (0, ["Erika", "not_found"]))

    def test_openapi_python_client(self):
        folder = fresh("openapi-python-client")
        generator = pathlib.Path(sys.executable).with_name("openapi-python-client")
        run(generator, "generate", "--path", self.description, "--meta", "none",
            "--output-path", folder / "idgate_client", "--config", FLOWS / "openapi_python_client.yaml")
        flow = FLOWS / "openapi_python_client.py"
        self.walk(sys.executable, flow, PYTHONPATH=str(folder))

    @needs("java", "mvn")
    def test_openapi_generator_python(self):
        folder = self.generate("python")
        self.walk(sys.executable, FLOWS / "generator_python.py", PYTHONPATH=str(folder))

    @needs("java", "mvn", "npm")
    def test_openapi_generator_typescript(self):
        self.typescript("generator_typescript.ts", self.generate("typescript-fetch"))

    @needs("npm")
    def test_openapi_typescript(self):
        node_packages()
        folder = fresh("openapi-typescript")
        run(NODE / "node_modules/.bin/openapi-typescript", self.description, "-o", folder / "api.d.ts")
        self.typescript("openapi_typescript.ts", folder)

    def typescript(self, flow, generated):
        """Compiles a flow beside what was generated, strictly, and walks it."""
        node_packages()
        folder = NODE / generated.name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        place = folder / "api.d.ts" if (generated / "api.d.ts").exists() else folder / "client"
        copy = shutil.copy if place.suffix else shutil.copytree
        copy(generated / "api.d.ts" if place.suffix else generated, place)
        for source in (flow, "stdio.ts"):
            shutil.copy(FLOWS / source, folder)
        run(NODE / "node_modules/.bin/tsc", "--strict", "--target", "es2022", "--lib", "es2022,dom",
            "--types", "node", "--module", "node16", "--moduleResolution", "node16",
            "--skipLibCheck", flow, cwd=folder)
        self.walk("node", flow.replace(".ts", ".js"), cwd=folder)

    @needs("java", "mvn", "go")
    def test_openapi_generator_go(self):
        folder = self.generate("go")
        (folder / "flow").mkdir()
        shutil.copy(FLOWS / "main.go", folder / "flow")
        # Below target/, too; without the flag nobody could remove it.
        go = {"GOPATH": str(WORK / "go-modules"), "GOCACHE": str(WORK / "go-cache"), "GOFLAGS": "-modcacherw"}
        go_tidy(folder, go)
        run("go", "build", "-o", "walk", "./flow", cwd=folder, **go)
        self.walk(folder / "walk")

    @needs("java", "javac", "mvn")
    def test_openapi_generator_java(self):
        # By default it sends an empty list for each that is not set, which says something else.
        self.java("--additional-properties", "containerDefaultToNull=true")

    @needs("java", "javac", "mvn")
    def test_openapi_generator_java_as_it_is_where_draft_alone_is_spoken(self):
        self.gateway, self.description = self.serve("draft")
        self.java()

    def java(self, *options):
        folder = self.generate("java", "--library", "native", *options)
        libraries = folder / "libraries"
        maven(COPY_ALL, "-f", folder / "pom.xml", f"-DoutputDirectory={libraries}",
              "-DincludeScope=compile")
        sources = [*(folder / "src/main/java").rglob("*.java"), FLOWS / "Flow.java"]
        run("javac", "-nowarn", "-d", folder / "classes", "-cp", f"{libraries}/*", *sources)
        self.walk("java", "-cp", f"{folder / 'classes'}{os.pathsep}{libraries}/*", "Flow")

    @needs("npm")
    def test_linters_find_no_error(self):
        node_packages()
        binaries = NODE / "node_modules/.bin"
        run(binaries / "redocly", "lint", "--extends=recommended", self.description)
        rules = WORK / "spectral.yaml"
        rules.write_text("extends: ['spectral:oas']\n", encoding="utf-8")
        run(binaries / "spectral", "lint", "--ruleset", rules, self.description)


def fresh(name):
    folder = WORK / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def node_packages():
    """Installs what package-lock.json says, once."""
    lock = HERE / "package-lock.json"
    installed = NODE / "installed-lock.json"
    if installed.exists() and installed.read_bytes() == lock.read_bytes():
        return
    NODE.mkdir(exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, NODE)
    run("npm", "ci", "--no-audit", "--no-fund", cwd=NODE)
    shutil.copy(lock, installed)


if __name__ == "__main__":
    unittest.main()
