"""Clients generated from the served description complete a whole verification."""

import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

import yaml

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "wallets" / "python"))

from gateway import PATIENCE, Gateway, urllib  # noqa: E402
from sd_jwt.common import SDObj  # noqa: E402
from sandbox import Sandbox  # noqa: E402
from tools import (FLOWS, GO, NODE, OGEN, OGEN_MODULE, WORK, cargo_build, cargo_flow, fresh, go_build,  # noqa: E402
                   go_example, go_flow, go_tool, java_example, needs, node_packages, openapi_generator, run)
from wallet import Issuer, Wallet, read_request  # noqa: E402

# The settings of a gateway with everything on.
EVERYTHING = {"IDGATE_PROFILES": "draft,1.0,haip", "IDGATE_PAGE": "on", "IDGATE_DC_API": "unsigned"}


class ClientsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        WORK.mkdir(parents=True, exist_ok=True)
        cls.issuer = Issuer("https://issuer.example", "urn:example:id")
        cls.wallet = Wallet()
        cls.gateway, cls.description, cls.older = cls.serve("everything", EVERYTHING)

    @classmethod
    def serve(cls, name, settings):
        """Starts a gateway with these settings, and saves its description in OpenAPI 3.1 and 3.0."""
        gateway = Gateway([cls.issuer], test=True, settings=settings)
        cls.addClassCleanup(gateway.stop)
        described = [WORK / f"{name}.json", WORK / f"{name}-3.0.yaml"]
        for served, kept in zip(("openapi.json", "openapi-3.0.yaml"), described):
            with urllib.request.urlopen(f"{gateway.url}/api/{served}", timeout=PATIENCE) as answer:
                kept.write_bytes(answer.read())
        return gateway, *described

    def walk(self, *command, cwd=WORK, tells="Erika not_found", **environment):
        """Lets the client ask, answers as a wallet, and compares the client's output."""
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
        self.assertEqual(process.returncode, 0)
        self.assertRegex(" ".join(told.split()), rf"\A{tells}\Z")


class PythonTest(ClientsTest):
    def test_openapi_python_client(self):
        folder = fresh("openapi-python-client")
        generator = pathlib.Path(sys.executable).with_name("openapi-python-client")
        run(generator, "generate", "--path", self.description, "--meta", "none",
            "--output-path", folder / "idgate_client", "--config", FLOWS / "openapi_python_client.yaml")
        flow = FLOWS / "openapi_python_client.py"
        self.walk(sys.executable, flow, PYTHONPATH=str(folder))

    @needs("java", "mvn")
    def test_openapi_generator(self):
        folder = openapi_generator("python", self.description)
        self.walk(sys.executable, FLOWS / "generator_python.py", PYTHONPATH=str(folder))


class TypeScriptTest(ClientsTest):
    @needs("java", "mvn", "npm")
    def test_openapi_generator(self):
        self.typescript("generator_typescript.ts", openapi_generator("typescript-fetch", self.description))

    @needs("npm")
    def test_openapi_typescript(self):
        node_packages()
        folder = fresh("openapi-typescript")
        run(NODE / "node_modules/.bin/openapi-typescript", self.description, "-o", folder / "api.d.ts")
        self.typescript("openapi_typescript.ts", folder)

    def typescript(self, flow, generated):
        """Compiles a flow together with the generated client in strict mode, and runs it."""
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

    @needs("npm")
    def test_linters_find_no_error(self):
        node_packages()
        binaries = NODE / "node_modules/.bin"
        rules = WORK / "spectral.yaml"
        rules.write_text("extends: ['spectral:oas']\n", encoding="utf-8")
        for description in (self.description, self.older):
            with self.subTest(description=description.name):
                run(binaries / "redocly", "lint", "--extends=recommended", description)
                run(binaries / "spectral", "lint", "--ruleset", rules, description)


@needs("go")
class GoTest(ClientsTest):
    @needs("java", "mvn")
    def test_openapi_generator(self):
        folder = openapi_generator("go", self.description)
        (folder / "flow").mkdir()
        shutil.copy(FLOWS / "generator_go.go", folder / "flow/main.go")
        self.walk(go_build(folder, "./flow"))

    def test_ogen(self):
        generator = go_tool(OGEN)
        # ogen finds the imports of its own code only in a module that requires it.
        folder, client = go_flow("ogen.go", OGEN_MODULE)
        run(generator, "--config", FLOWS / "ogen.yml", "--package", "client", "--target", client, self.older,
            cwd=folder, **GO)
        self.walk(go_build(folder))


@needs("cargo")
class RustTest(ClientsTest):
    @needs("java", "mvn")
    def test_openapi_generator(self):
        generated = openapi_generator("rust", self.description)
        folder = cargo_flow("generator_rust")
        shutil.move(generated, folder / "client")
        self.walk(cargo_build(folder))

    def test_progenitor(self):
        folder = cargo_flow("progenitor")
        document = yaml.safe_load(self.older.read_text(encoding="utf-8"))
        # progenitor stops at operations with several body types, which pages and wallets have.
        document["paths"] = {path: item for path, item in document["paths"].items()
                             if path.startswith("/v1/") and not path.startswith("/v1/oid4vp/")}
        (folder / "openapi.json").write_text(json.dumps(document), encoding="utf-8")
        self.walk(cargo_build(folder))


@needs("java", "javac", "mvn")
class JavaTest(ClientsTest):
    def test_openapi_generator_with_a_gateway_of_drafts_only(self):
        self.gateway, *_ = self.serve("draft", {"IDGATE_PROFILES": "draft"})
        # The example without the lines that only newer profiles need.
        classes = java_example(self.gateway.url, ("pom.xml", "containerDefaultToNull>true"),
                               ("src/main/java/Verify.java", "Profile"))
        self.walk("java", "-cp", classes, "Verify", tells=r"VERIFIED 20\S+Z given_name: Erika",
                  GATEWAY_URL=self.gateway.url, API_KEY=self.gateway.api_key)


class ExamplesTest(unittest.TestCase):
    """The programs in examples/clients against a sandbox, whose wallet answers."""

    @needs("go")
    def test_go_with_oapi_codegen(self):
        sandbox = self.sandbox()
        programs = go_example(sandbox.url)
        self.verify(sandbox, programs / "verify")
        self.receive(sandbox, programs / "receive")

    @needs("java", "javac", "mvn")
    def test_java_with_openapi_generator(self):
        sandbox = self.sandbox()
        program = ("java", "-cp", java_example(sandbox.url))
        self.verify(sandbox, *program, "Verify")
        self.receive(sandbox, *program, "Receive")

    def sandbox(self):
        WORK.mkdir(parents=True, exist_ok=True)
        sandbox = Sandbox(EVERYTHING)
        self.addCleanup(sandbox.stop)
        return sandbox

    def start(self, *command, **environment):
        process = subprocess.Popen([str(part) for part in command], env={**os.environ, **environment},
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        # Clean-ups run in reverse order.
        for done in (process.stdout.close, process.stderr.close, process.wait, process.kill):
            self.addCleanup(done)
        return process

    def verify(self, sandbox, *program):
        """The program prints a link, waits for the answer, and prints the claim or the reason of the refusal."""
        settings = {"GATEWAY_URL": sandbox.url, "API_KEY": sandbox.api_key, "ISSUER_ID": "https://issuer.example"}
        process = self.start(*program, **settings)
        sandbox.answer(process.stdout.readline().strip())
        told, why = process.communicate(timeout=5 * PATIENCE)
        self.assertEqual((process.returncode, why), (0, ""))
        self.assertRegex(told, r"\AVERIFIED 20\S+Z\ngiven_name: Erika\n\Z")
        refused = self.start(*program, **settings | {"API_KEY": "sk_test_unknown"})
        told, why = refused.communicate(timeout=5 * PATIENCE)
        self.assertEqual((refused.returncode, told), (1, ""))
        self.assertRegex(why, r"\Ainvalid_api_key: .+\n\Z")

    def receive(self, sandbox, *program):
        """The program prints a notification that the gateway signed, once, and refuses one with another signature."""
        process = self.start(*program, PORT="0", SIGNING_SECRET=sandbox.signing_secret)
        address = process.stdout.readline().strip()
        self.addCleanup(sandbox.listen(address))
        session_id = sandbox.settle()
        self.assertEqual(process.stdout.readline(), f"VERIFIED {session_id}\n")
        other = "whsec_" + base64.b64encode(bytes(32)).decode()
        notified = [("first", other), ("first", sandbox.signing_secret), ("first", sandbox.signing_secret),
                    ("second", sandbox.signing_secret)]
        self.assertEqual([sandbox.notify(address, *it) for it in notified], [400, 204, 204, 204])
        told = [process.stdout.readline() for _ in range(2)]
        self.assertEqual(told, ["FAILED ses_first\n", "FAILED ses_second\n"])


if __name__ == "__main__":
    unittest.main()
