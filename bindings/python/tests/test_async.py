"""The same cases in an event loop, the examples of the documentation, and parallel fetches."""

from __future__ import annotations

import asyncio
import dataclasses
import doctest
import importlib
import inspect
import pkgutil
import re
import sys
import threading
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cases
import idgate
from idgate import _deciding
from idgate.fetcher import Fetching

sys.path.insert(0, str(Path(__file__).parents[3] / "tests" / "harness"))

from patience import PATIENCE  # noqa: E402

FORM = "application/x-www-form-urlencoded"
#: Modules that need a framework, which may not be installed.
FRAMEWORKS = ("django", "fastapi")


def load_tests(_: Any, tests: unittest.TestSuite, __: Any) -> unittest.TestSuite:
    """Runs the examples of the documentation as tests."""
    names = {name: getattr(idgate, name) for name in idgate.__all__}
    for found in pkgutil.iter_modules(idgate.__path__):
        if not found.ispkg and found.name not in FRAMEWORKS:
            module = importlib.import_module(f"idgate.{found.name}")
            tests.addTests(doctest.DocTestSuite(module, extraglobs={**names, **vars(module)}))
    return tests


class AsyncStore(cases.Kept):
    """A store of coroutine functions."""

    async def commit(self, transition: idgate.Transition) -> bool:  # type: ignore[override]
        return super().commit(transition)


async def outcome(case: dict[str, Any]) -> dict[str, Any]:
    """The outcome of a case, through coroutines."""
    now = cases.at(case["now_ms"])
    session = idgate.Session.restore(cases.decode(case["session"]))
    verifier = await asyncio.to_thread(cases.verifier, case)
    try:
        decision = await verifier.decide_async(session, cases.answer(case, session), AsyncStore(), now=now)
    except idgate.NotAnAnswer as error:
        return {"error": error.code}
    return cases.told(decision, now)


class AsyncTest(unittest.IsolatedAsyncioTestCase):
    async def test_every_case_has_the_same_outcome(self) -> None:
        everything = cases.load()[:120]
        outcomes = await asyncio.gather(*(outcome(case) for case in everything))
        for case, told in zip(everything, outcomes, strict=True):
            self.assertEqual(told, case["expected"], case["title"])

    async def test_an_answer_is_decided_and_stored_in_one_call(self) -> None:
        key = idgate.Signer("https://a.example", b"7" * 32).public_key()
        trust = idgate.Trust([idgate.Issuer("https://issuer.example", jwk=key)])
        verifier = idgate.Verifier(cases.BASE_URL, trust, profiles=["draft"])
        request: idgate.Request = {
            "credentials": [
                {"format": "dc+sd-jwt", "issuer_id": "https://issuer.example", "claims": ["given_name"]}
            ]
        }
        session, store = verifier.create_session(request, mode="live").session, AsyncStore()
        info = session.info()
        state = re.search("state=([^&]*)", info.qr_code_url or "")
        assert state is not None

        def answer(state: str) -> idgate.Answer:
            body = f"state={state}&error=access_denied".encode()
            return idgate.Answer(to=info.id, body=body, content_type=FORM)

        with self.assertRaises(idgate.NotAnAnswer) as raised:
            await verifier.decide_async(session, answer("x"), store)
        error = raised.exception
        self.assertEqual((error.code, error.http_status, error.reply.status), ("state_mismatch", 400, 400))
        with self.assertRaises(idgate.NotAnAnswer):
            await verifier.decide_async(session, idgate.Answer.dc_api({"protocol": "x"}), store)
        self.assertEqual(store.transitions, [])
        decision = await verifier.decide_async(session, answer(state[1]), store)
        self.assertEqual((decision.reply.status, decision.wallet_error), (200, "access_denied"))
        self.assertEqual(decision.report.credentials, ())
        self.assertEqual(store.transitions, [decision.transition])
        self.assertEqual(decision.transition.from_revision, info.revision)
        with self.assertRaises(idgate.NotAnAnswer) as raised:
            await verifier.decide_async(decision.session, answer(state[1]), store)
        self.assertEqual((raised.exception.code, raised.exception.http_status), ("session_not_pending", 409))

    async def test_one_presentation_is_verified(self) -> None:
        with idgate.Trust([idgate.Issuer("i")]) as trust:
            with self.assertRaises(idgate.Refused):
                await trust.verify_async("x", format="dc+sd-jwt", issuer_id="i", client_id="c", nonce="n")

    def test_async_methods_have_the_parameters_of_the_synchronous_ones(self) -> None:
        found = 0
        for kind in vars(idgate).values():
            for name, method in vars(kind).items() if isinstance(kind, type) else ():
                if name.endswith("_async"):
                    plain = getattr(kind, name.removesuffix("_async"))
                    self.assertEqual(inspect.signature(method), inspect.signature(plain), name)
                    found += 1
        self.assertGreaterEqual(found, 2)

    def test_no_public_function_has_variadic_parameters(self) -> None:
        for name in idgate.__all__:
            kind = getattr(idgate, name)
            methods = [kind, *vars(kind).values()] if isinstance(kind, type) else [kind]
            for method in methods:
                if inspect.isfunction(method) and method.__module__.startswith("idgate"):
                    parameters = inspect.signature(method).parameters.values()
                    kinds = [parameter.kind for parameter in parameters]
                    self.assertNotIn(inspect.Parameter.VAR_KEYWORD, kinds, f"{name}: {method}")


class Steps(idgate.Verification):
    """A verification that needs three sources, and records their bodies."""

    def __init__(self, fetch: Any = True) -> None:
        self.asked, self.supplied, self._pointer = False, {}, None
        self.fetching = Fetching(fetch)

    def step(self) -> Any:
        if self.asked:
            return idgate.Decision("settled", None, "VERIFIED", None, None, None, None)  # type: ignore[arg-type]
        self.asked = True
        needs = [idgate.Need(index, "crl", f"https://{index}.example", "*/*") for index in range(3)]
        return idgate.Ask(hold="hold", needs=tuple(needs))  # type: ignore[arg-type]

    def supply(self, need: idgate.Need, body: Any, now: Any = None) -> None:
        self.supplied[need.index] = body


class FetchTest(unittest.TestCase):
    """The sources of one answer are fetched in parallel."""

    def test_a_coroutine_function_is_refused_where_nothing_awaits_it(self) -> None:
        async def fetch(_: Any) -> None: ...

        with self.assertRaisesRegex(TypeError, "commit is a coroutine function: await the method"):
            _deciding.decide(Steps(lambda need: None), AsyncStore())
        with self.assertRaisesRegex(TypeError, "fetch is a coroutine function: await the method"):
            _deciding.decide(Steps(fetch), cases.Kept())

    def test_a_store_that_does_not_say_whether_it_stored_is_a_type_error(self) -> None:
        class Silent(cases.Kept):
            def commit(self, transition: idgate.Transition) -> None:  # type: ignore[override]
                super().commit(transition)

        with self.assertRaisesRegex(TypeError, "commit of the store returns None"):
            _deciding.decide(Steps(lambda need: None), Silent())  # type: ignore[arg-type]
        with self.assertRaisesRegex(TypeError, "commit of the store returns None"):
            asyncio.run(_deciding.decide_async(Steps(lambda need: None), Silent()))  # type: ignore[arg-type]

    def test_on_threads(self) -> None:
        together, store = threading.Barrier(3, timeout=PATIENCE), cases.Kept()

        def fetch(need: idgate.Need) -> bytes:
            together.wait()
            return need.uri.encode()

        verification = Steps(fetch)
        self.assertEqual(_deciding.decide(verification, store).status, "VERIFIED")
        expected = {index: f"https://{index}.example".encode() for index in range(3)}
        self.assertEqual((store.transitions, verification.supplied), (["hold", "settled"], expected))

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

            for work, store in ((fetch, cases.Kept()), (blocking, AsyncStore())):
                verification = Steps(work)
                decided = await _deciding.decide_async(verification, store)
                self.assertEqual(decided.status, "VERIFIED")
                self.assertEqual((store.transitions, len(verification.supplied)), (["hold", "settled"], 3))

        asyncio.run(both())

    def test_the_event_loop_runs_while_the_library_works(self) -> None:
        released = threading.Event()

        class Slow(Steps):
            def __init__(self, begins: Callable[[], object]) -> None:
                super().__init__()
                self.begins, self.asked = begins, True

            def step(self) -> Any:
                self.begins()
                if not released.wait(PATIENCE):
                    raise AssertionError("the loop stood still")
                return super().step()

        async def both() -> Any:
            begun, loop = asyncio.Event(), asyncio.get_running_loop()
            works = Slow(lambda: loop.call_soon_threadsafe(begun.set))
            deciding = asyncio.ensure_future(_deciding.decide_async(works, cases.Kept()))
            await begun.wait()
            released.set()
            return await deciding

        self.assertEqual(asyncio.run(both()).status, "VERIFIED")


class ValueTest(unittest.TestCase):
    def test_no_repr_shows_nonce_state_claims_or_the_redirect(self) -> None:
        key = idgate.Signer("https://i.example", b"7" * 32).public_key()
        trust = idgate.Trust([idgate.Issuer("https://i.example", jwk=key)])
        verifier = idgate.Verifier(cases.BASE_URL, trust, profiles=["draft", "1.0"])
        request: idgate.Request = {
            "credentials": [{"format": "dc+sd-jwt", "issuer_id": "https://i.example", "claims": ["given_name"]}],
            "profiles": ["draft"],
        }
        made = verifier.create_session(request, mode="live")
        info = made.session.info()
        shown = repr((info, info.offers, made))
        secrets = re.findall(r"(?:nonce|state)=([^&]+)", info.qr_code_url or "")
        self.assertEqual(len(secrets), 2)
        for secret in secrets:
            self.assertNotIn(secret, shown)
        reply, report = idgate.Reply(200, b"s3cret"), idgate.Report(None, ())
        for value in (
            idgate.Decision(made, reply, "VERIFIED", None, None, "s3cret", report),
            idgate.Answer(to=info.id, body="s3cret", content_type=FORM),
            idgate.Answer.dc_api("s3cret"),
            idgate.Browser("s3cret"),
            idgate.Result({"pid": {"name": "s3cret"}}, {"response_code": "s3cret"}),
        ):
            self.assertNotIn("s3cret", repr(value))

    def test_values_are_frozen_and_have_no_further_attributes(self) -> None:
        values = [getattr(idgate, name) for name in idgate.__all__]
        kinds = [kind for kind in values if isinstance(kind, type) and dataclasses.is_dataclass(kind)]
        self.assertGreater(len(kinds), 15)
        for kind in kinds:
            self.assertTrue(kind.__dataclass_params__.frozen, kind)
            self.assertTrue(all("__slots__" in vars(one) for one in kind.__mro__[:-1]), kind)

    def test_the_version_is_the_packages(self) -> None:
        self.assertRegex(idgate.__version__, r"^\d+\.\d+\.\d+")


if __name__ == "__main__":
    unittest.main()
