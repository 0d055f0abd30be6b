"""Type checkers accept correct programs, and find the marked line in each wrong program."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Iterator
from pathlib import Path

INSTALLED = all(importlib.util.find_spec(name) for name in ("mypy", "pyright"))
HEAD = """\
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, assert_never

import idgate
from idgate import Answer, Backend, Browser, Issuer, Request, Status, Trust, Verifier, Webhook


class Store:
    def load(self, handle: str) -> idgate.Session | None:
        return None

    def commit(self, transition: idgate.Transition) -> bool:
        return True


class AsyncStore:
    async def load(self, handle: str) -> idgate.Session | None:
        return None

    async def commit(self, transition: idgate.Transition) -> bool:
        return True


@dataclass
class Pid:
    birthdate: str


class Age(TypedDict):
    age_over_18: bool


def program(trust: Trust, verifier: Verifier, session: idgate.Session, answer: Answer, store: Store) -> None:
"""
RIGHT = """
    made = verifier.create_session({
        "credentials": [
            {"id": "pid", "format": "dc+sd-jwt", "issuer_id": "i", "claims": ["city"],
             "claim_paths": {"city": ["address", "locality"], "all": ["nationalities", None]}},
            {"id": "mdl", "format": "mso_mdoc", "issuer_id": "i", "claims": ["age_over_18"], "doc_type": "d"},
        ],
        "profiles": ["1.0", idgate.Profile.HAIP],
        "dc_api": {"origins": ["https://shop.example"]},
    }, mode="test")
    verifier.create_session('{"credentials": []}', mode="live")
    verifier.create_session(b"{}", mode="live", tenant="shop")
    verifier.create_session({"issuer_id": "i"}, mode="live")
    asked: Request = {"credentials": [{"format": "dc+sd-jwt", "issuer_id": "i", "claims": []}]}
    verifier.create_session(asked, mode="live")
    for effect in made.effects:
        match effect:
            case idgate.PublishStatus(status, reason, _, occurred_at):
                print(status, reason, occurred_at.year)
            case idgate.ExpireAt(at) | idgate.RedactClaimsAt(at):
                print(at.year)
            case _:
                assert_never(effect)
    decision = verifier.decide(session, answer, store)
    print(decision.reply.status, decision.reply.headers, decision.reason == "nonce_mismatch")
    info = session.info()
    print(info.status == "VERIFIED", info.status in ("CREATED", "PENDING"), Status(info.status).name)
    print(info.status == Status.VERIFIED, info.mode == "live")
    status = info.status
    match status:
        case "VERIFIED":
            print("good")
        case "FAILED" | "EXPIRED":
            print(info.reason)
        case "CREATED" | "PENDING" | "VERIFYING":
            print(info.qr_code_url)
        case _:
            assert_never(status)
    result = session.result(reader=Browser(response_code=None))
    pid: Pid = result.credential("pid", Pid)
    age: Age = result.credential("mdl", Age)
    print(pid.birthdate, age["age_over_18"], result.credential("pid")["birthdate"])
    trust.verify("x", format="mso_mdoc", issuer_id="i", client_id="c", nonce="n", doc_type="d", namespace="n",
                 response_uri="https://shop.example").claims_as(Age)
    print(Webhook("secret").verify({"webhook-id": "x"}, b"{}")["type"])
    verifier.decide(session, answer, AsyncStore())


async def in_a_loop(trust: Trust, verifier: Verifier, session: idgate.Session, answer: Answer) -> None:
    await verifier.decide_async(session, answer, Store())
    decision: idgate.Decision = await verifier.decide_async(session, answer, AsyncStore())
    print(decision.session.result(Backend()).claims)
    verified = await trust.verify_async("x", format="dc+sd-jwt", issuer_id="i", client_id="c", nonce="n")
    print(verified.claims_as(Pid).birthdate)
"""
SD_JWT = '"format": "dc+sd-jwt", "issuer_id": "i", "claims": ["a"]'
#: Each line is a program. In a program of several lines, the wrong line is marked.
WRONG = {
    "a key that a request does not have": f'verifier.create_session({{"credential": [{{{SD_JWT}}}]}}, mode="live")',
    "a request of another key": (
        f'asked: Request = {{"credential": [{{{SD_JWT}}}]}}; verifier.create_session(asked, mode="live")'
    ),
    "a session that is neither live nor a test": f'verifier.create_session({{"credentials": [{{{SD_JWT}}}]}})',
    "a format that does not exist": (
        'verifier.create_session({"credentials": [{"format": "sd-jwt", "issuer_id": "i", "claims": ["a"]}]}, '
        'mode="live")'
    ),
    "paths of an mdoc": (
        'verifier.create_session({"credentials": [{"format": "mso_mdoc", "issuer_id": "i", "claims": ["a"], '
        '"claim_paths": {"a": ["b"]}}]}, mode="live")'
    ),
    "a credential without an issuer": (
        'verifier.create_session({"credentials": [{"format": "mso_mdoc", "claims": ["a"]}]}, mode="live")'
    ),
    "a mode that does not exist": 'verifier.create_session("{}", mode="production")',
    "a flag where the mode is": 'verifier.create_session("{}", mode="live", livemode=True)',
    "an unknown argument of verify_async": (
        'print(trust.verify_async("x", formt="dc+sd-jwt", issuer_id="i", client_id="c", nonce="n"))'
    ),
    "an unknown argument of verify": 'trust.verify("x", formt="dc+sd-jwt", issuer_id="i", client_id="c", nonce="n")',
    "a format of verify that does not exist": (
        'trust.verify("x", format="sd-jwt", issuer_id="i", client_id="c", nonce="n")'
    ),
    "a result without its reader": "session.result()",
    "a browser without its code": "session.result(reader=Browser())",
    "an attribute that a decision does not have": "print(verifier.decide(session, answer, store).repl)",
    "a status that does not exist": 'print(session.info().status == "VERYFIED")',
    "a status of Decision that does not exist": (
        'print(verifier.decide(session, answer, store).status == "VERIFYED")'
    ),
    "a reason that does not exist": 'print(session.info().reason == "nonce_mismach")',
    "a verifier without profiles": 'Verifier("https://shop.example", trust)',
    "a profile that does not exist": 'Verifier("https://shop.example", trust, profiles=["2.0"])',
    "one profile and not a list": "Verifier('https://shop.example', trust, profiles=None)",
    "a path where bytes are": 'Trust([Issuer("i", iaca_roots=Path("x"))])',
    "an argument that an issuer does not have": 'Issuer("i", roots=b"")',
    "a way of another time": 'trust.add_issuer("i")',
    "an answer without its type": 'Answer(to="x", body=b"")',
    "an answer by position": 'Answer("x", b"", None)',
    "a claim of another type": 'age: int = session.result(Backend()).credential("pid", Pid).birthdate; print(age)',
    "a frozen value that is changed": 'session.info().status = "VERIFIED"',
    "a status that is left out": """
    status = session.info().status
    match status:
        case "VERIFIED" | "FAILED" | "EXPIRED":
            print(status)
        case "CREATED" | "PENDING":
            print("open")
        case _:
            assert_never(status)  # wrong
    """,
    "a dictionary of old": 'print(session.result(Backend())["claims"])',
    "an effect of another kind": "print([effect.at for effect in verifier.create_session('{}', mode='live').effects])",
    "a notification without its headers": 'Webhook("secret").verify(b"{}")',
    "a store that does not say whether it stored": """
    class Mute:
        def load(self, handle: str) -> idgate.Session | None:
            return None
        def commit(self, transition: idgate.Transition) -> None:
            print(transition)
    verifier.decide(session, answer, Mute())  # wrong
    """,
    "a coroutine store that does not say whether it stored": """
    class Mute:
        async def load(self, handle: str) -> idgate.Session | None:
            return None
        async def commit(self, transition: idgate.Transition) -> None:
            print(transition)
    verifier.decide(session, answer, Mute())  # wrong
    """,
    "an exception that is gone": "print(idgate.ConfigurationError)",
}


def programs(folder: Path) -> Iterator[tuple[str, Path, list[int]]]:
    """Each wrong program as a file, and the lines that are wrong."""
    for number, (title, wrong) in enumerate(WRONG.items()):
        path = folder / f"wrong_{number}.py"
        one_line = "\n" not in wrong
        path.write_text(f"# pyright: strict, reportUnusedImport=false\n{HEAD}    {wrong.strip()}\n")
        lines = path.read_text().splitlines()
        marked = [at for at, line in enumerate(lines, 1) if "# wrong" in line]
        yield title, path, [len(lines)] if one_line else marked


@unittest.skipUnless(INSTALLED, "mypy and pyright are not installed")
class TypesTest(unittest.TestCase):
    folder: Path
    wrong: list[tuple[str, Path, list[int]]]

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name).resolve()
        cls.wrong = list(programs(cls.folder))
        (cls.folder / "right.py").write_text(f"# pyright: strict, reportUnusedImport=false\n{HEAD}{RIGHT}")

    def found_as_marked(self, found: dict[Path, set[int]]) -> None:
        for title, path, lines in self.wrong:
            with self.subTest(title):
                self.assertEqual(sorted(found.get(path, ())), lines, path.read_text().splitlines()[-1])
        self.assertEqual(found.get(self.folder / "right.py", set()), set())

    def test_by_mypy(self) -> None:
        command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--cache-dir", "/dev/null", "."]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        found: dict[Path, set[int]] = {}
        for name, line in re.findall(r"^(\w+\.py):(\d+): error:", done.stdout, re.MULTILINE):
            found.setdefault(self.folder / name, set()).add(int(line))
        self.assertNotEqual(found, {}, done.stdout + done.stderr)
        self.found_as_marked(found)

    def test_by_pyright(self) -> None:
        command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "."]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        found: dict[Path, set[int]] = {}
        for told in json.loads(done.stdout)["generalDiagnostics"]:
            if told["severity"] == "error":
                found.setdefault(Path(told["file"]), set()).add(told["range"]["start"]["line"] + 1)
        self.found_as_marked(found)


if __name__ == "__main__":
    unittest.main()
