"""The same cases in an event loop, and errors by who must act."""

from __future__ import annotations

import asyncio
import doctest
import importlib
import pickle
import re
import sys
import threading
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cases
import idgate

sys.path.insert(0, str(Path(__file__).parents[3] / "tests" / "harness"))

from patience import PATIENCE  # noqa: E402

MODULES = ("errors", "session", "signer", "trust", "verification", "verifier", "webhook")


def load_tests(_: Any, tests: unittest.TestSuite, __: Any) -> unittest.TestSuite:
    """The examples of the documentation are tests, too."""
    names = {name: getattr(idgate, name) for name in idgate.__all__}
    for name in MODULES:
        module = importlib.import_module(f"idgate.{name}")
        tests.addTests(doctest.DocTestSuite(module, extraglobs={**names, **vars(module)}))
    return tests


async def outcome(case: dict[str, Any], fetch: Any = lambda need: None) -> dict[str, Any]:
    """What comes of a case, through coroutines."""
    now = cases.at(case["now_ms"])
    session = idgate.Session.restore(cases.decode(case["session"]))
    held = []

    async def commit(transition: idgate.Transition) -> None:
        held.append(transition)

    try:
        verification = await asyncio.to_thread(cases.begin, case, session, now)
    except idgate.Refused as error:
        return {"error": error.code}
    with verification:
        decision = await verification.decide_async(commit, fetch)
    result = decision.transition.session.result(now)
    claims = None if result is None else result["claims"]
    return {"status": decision.status, "reason": decision.reason, "claims": claims}


class AsyncTest(unittest.IsolatedAsyncioTestCase):
    async def test_every_case_comes_to_the_same(self) -> None:
        everything = cases.load()[:120]
        outcomes = await asyncio.gather(*(outcome(case) for case in everything))
        for case, told in zip(everything, outcomes, strict=True):
            self.assertEqual(told, case["expected"], case["title"])

    async def test_an_answer_is_verified_in_one_call(self) -> None:
        trust = idgate.Trust()
        trust.add_issuer("https://issuer.example")
        trust.add_jwk("https://issuer.example", idgate.Signer("https://a.example", b"7" * 32).public_key())
        verifier = idgate.Verifier(cases.BASE_URL, trust)
        asked = {"format": "vc+sd-jwt", "issuer_id": "https://issuer.example", "claims": ["given_name"]}
        session = verifier.create_session({"credentials": [asked]}).session
        never = {"commit": lambda hold: self.fail("nothing is asked"), "fetch": lambda need: None}
        with self.assertRaises(idgate.Refused) as raised:
            await verifier.verify(session, b"state=x&error=x", "application/x-www-form-urlencoded", **never)
        self.assertEqual((raised.exception.code, raised.exception.kind), ("state_mismatch", "bad_response"))
        with self.assertRaises(idgate.Refused):
            await verifier.verify_dc_api(session, {"protocol": "x"}, **never)
        state = re.search("state=([^&]*)", session.info().qr_code_url or "")
        assert state is not None
        body = f"state={state[1]}&error=access_denied".encode()
        decision = await verifier.verify(session, body, "application/x-www-form-urlencoded", **never)
        self.assertEqual((decision.reply, decision.wallet_error), ("error_noted", "access_denied"))
        self.assertEqual(decision.report["credentials"], [])

    async def test_one_presentation_is_verified(self) -> None:
        with idgate.Trust() as trust:
            trust.add_issuer("i")
            with self.assertRaises(idgate.Refused):
                await trust.verify_async("x", format="vc+sd-jwt", issuer_id="i", client_id="c", nonce="n")


class FetchTest(unittest.TestCase):
    """Of an answer that needs several sources, all are fetched at once."""

    class Verification(idgate.Verification):
        """Needs three sources, and takes what came of them."""

        def __init__(self) -> None:
            self.asked, self.supplied, self._pointer = False, {}, None

        def step(self) -> Any:
            if self.asked:
                return "decided"
            self.asked = True
            needs = [idgate.Need(index, "crl", f"https://{index}.example", "*/*") for index in range(3)]
            return idgate.Ask(hold="hold", needs=needs)  # type: ignore[arg-type]

        def supply(self, need: idgate.Need, body: Any, now: Any = None) -> None:
            self.supplied[need.index] = body

    def test_a_coroutine_function_is_refused_where_nothing_awaits_it(self) -> None:
        async def commit(_: Any) -> None: ...

        async def fetch(_: Any) -> None: ...

        with self.assertRaisesRegex(TypeError, "commit is a coroutine function; await decide_async"):
            self.Verification().decide(commit, lambda need: None)  # type: ignore[arg-type]
        with self.assertRaisesRegex(TypeError, "fetch is a coroutine function; await decide_async"):
            self.Verification().decide(lambda hold: None, fetch)  # type: ignore[arg-type]

    def test_on_threads(self) -> None:
        verification, together = self.Verification(), threading.Barrier(3, timeout=PATIENCE)

        def fetch(need: idgate.Need) -> bytes:
            together.wait()
            return need.uri.encode()

        held: list[Any] = []
        self.assertEqual(verification.decide(held.append, fetch), "decided")
        expected = {index: f"https://{index}.example".encode() for index in range(3)}
        self.assertEqual((held, verification.supplied), (["hold"], expected))

    def test_in_an_event_loop_by_functions_of_either_kind(self) -> None:
        async def both() -> None:
            together = asyncio.Barrier(3)

            async def fetch(need: idgate.Need) -> bytes:
                await asyncio.wait_for(together.wait(), PATIENCE)
                return need.uri.encode()

            threads = threading.Barrier(3, timeout=PATIENCE)

            def blocking(need: idgate.Need) -> bytes:
                threads.wait()
                return need.uri.encode()

            for work in (fetch, blocking):
                verification, held = self.Verification(), []
                self.assertEqual(await verification.decide_async(held.append, work), "decided")
                self.assertEqual((held, len(verification.supplied)), (["hold"], 3))

        asyncio.run(both())

    def test_the_loop_goes_on_while_the_library_works(self) -> None:
        released = threading.Event()

        class Slow(self.Verification):  # type: ignore[name-defined, misc]
            def __init__(self, begins: Callable[[], object]) -> None:
                super().__init__()
                self.begins = begins

            def step(self) -> Any:
                self.begins()
                return "decided" if released.wait(PATIENCE) else "the loop stood still"

        async def both() -> Any:
            begun, loop = asyncio.Event(), asyncio.get_running_loop()
            works = Slow(lambda: loop.call_soon_threadsafe(begun.set))
            deciding = asyncio.ensure_future(works.decide_async(print, print))
            await begun.wait()
            released.set()
            return await deciding

        self.assertEqual(asyncio.run(both()), "decided")


class ErrorTest(unittest.TestCase):
    def error(self, work: Any) -> idgate.IdgateError:
        with self.assertRaises(idgate.IdgateError) as raised:
            work()
        return raised.exception

    def test_the_class_says_who_must_act(self) -> None:
        for kind, expected in (
            ("config", idgate.ConfigurationError),
            ("misuse", idgate.ConfigurationError),
            ("bad_request", idgate.ConfigurationError),
            ("refused", idgate.Refused),
            ("bad_response", idgate.Refused),
            ("unavailable", idgate.NotAvailable),
            ("internal", idgate.NotAvailable),
        ):
            made = idgate.IdgateError(kind, "code", "text")
            self.assertIs(type(made), expected)
            self.assertIs(type(pickle.loads(pickle.dumps(made))), expected)

    def test_a_signer_that_cannot_sign_is_not_available(self) -> None:
        key = idgate.Signer(cases.BASE_URL, b"7" * 32)
        signer = idgate.Signer.external(cases.BASE_URL, key.public_key(), lambda _: b"")
        with idgate.Trust() as trust:
            trust.add_issuer("https://i.example")
            trust.add_jwk("https://i.example", key.public_key())
            verifier = idgate.Verifier(cases.BASE_URL, trust, signer=signer)
        asked = {"format": "vc+sd-jwt", "issuer_id": "https://i.example", "claims": ["given_name"]}
        session = verifier.create_session({"credentials": [asked]}).session
        self.assertIsInstance(self.error(lambda: verifier.request_object(session)), idgate.NotAvailable)

    def test_errors_speak_python(self) -> None:
        trust = idgate.Trust()
        missing = self.error(lambda: trust.add_roots("nobody", b""))
        self.assertEqual(missing.remedy, "add it with Trust.add_issuer()")
        trust.add_issuer("i")
        self.assertIn("test_only=True", str(self.error(lambda: trust.add_vical("i", b"x"))))
        trust.close()
        self.assertEqual(str(self.error(lambda: trust.add_issuer("i"))), "this Trust is closed")

    def test_no_text_of_the_library_names_what_only_c_has(self) -> None:
        sources = Path(__file__).parents[3] / "idgate-ffi" / "src"
        text = "".join(path.read_text() for path in sources.rglob("*.rs"))
        said = [text for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', text) if " " in text]
        c_names = re.compile(r"\bidgate_[a-z]\w+|\bIDGATE_[A-Z]\w+")
        found = {name for text in said for name in c_names.findall(text) if "extern" not in text}
        # What only a mistake in this package could show.
        found -= {"idgate_material"}
        for name in found:
            self.assertNotIn(name, str(idgate.IdgateError("config", "config", name)))
        self.assertTrue(found)

    def test_what_to_do_is_said_of_codes_that_there_are(self) -> None:
        table = Path(__file__).parents[3] / "idgate-core" / "src" / "error" / "code.rs"
        codes = set(re.findall('=> "([a-z_]+)"', table.read_text()))
        self.assertLessEqual(set(idgate.errors._REMEDIES), codes)

    def test_refusals_name_their_clause(self) -> None:
        with idgate.Trust() as trust:
            trust.add_issuer("i")
            ask = {"format": "vc+sd-jwt", "issuer_id": "i", "client_id": "c", "nonce": "n"}
            error = self.error(lambda: trust.verify("not an SD-JWT", **ask))
        self.assertIsInstance(error, idgate.Refused)
        self.assertEqual(error.code, "malformed_presentation")
        self.assertRegex(error.clause or "", "^(RFC|OpenID4VP|SD-JWT|ISO|HAIP|IETF|draft)")


class ReprTest(unittest.TestCase):
    def test_no_repr_shows_nonce_state_or_the_way_back(self) -> None:
        with idgate.Trust() as trust:
            trust.add_issuer("https://i.example")
            key = idgate.Signer(cases.BASE_URL, b"7" * 32).public_key()
            trust.add_jwk("https://i.example", key)
            verifier = idgate.Verifier(cases.BASE_URL, trust, profiles=["draft", "1.0"])
        asked = {"format": "vc+sd-jwt", "issuer_id": "https://i.example", "claims": ["given_name"]}
        made = verifier.create_session({"credentials": [asked], "profiles": ["draft"]})
        info = made.session.info()
        shown = repr((info, info.offers, made))
        secrets = re.findall(r"(?:nonce|state)=([^&]+)", info.qr_code_url or "")
        self.assertEqual(len(secrets), 2)
        for secret in secrets:
            self.assertNotIn(secret, shown)
        decision = idgate.Decision(made, "accepted", {"redirect_uri": "s3cret"}, "s3cret", "VERIFIED",
                                   None, None, {"failed": None, "credentials": []})
        self.assertNotIn("s3cret", repr(decision))

    def test_the_version_is_the_packages(self) -> None:
        self.assertRegex(idgate.__version__, r"^\d+\.\d+\.\d+")


if __name__ == "__main__":
    unittest.main()
