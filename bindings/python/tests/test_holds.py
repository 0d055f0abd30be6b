"""The hold of a verification that fails before its end."""

from __future__ import annotations

import asyncio
import json
import unittest
from collections.abc import AsyncGenerator, Callable
from datetime import UTC, datetime
from typing import Any

import idgate
from idgate import _deciding
from idgate._web import Asked, Endpoints
from idgate.fetcher import Fetching

FORM = "application/x-www-form-urlencoded"


class Stopping(idgate.Verification):
    """A verification that needs a source, and fails at `fault`."""

    def __init__(
        self, fault: BaseException | None = None, fetch: Any = True, now: datetime | None = None
    ) -> None:
        self._pointer, self.fault, self.fetching, self.now = None, fault, Fetching(fetch), now

    def step(self) -> Any:
        return idgate.Ask(hold=Held(), needs=("source",))  # type: ignore[arg-type]

    def recall(self, fetcher: Any) -> bool:
        return False

    def fetch(self, fetcher: Any) -> None:
        if self.fault is not None:
            raise self.fault

    def wait(self, wait_ms: int) -> bool:
        return False


class Store:
    """A store that accepts everything, unless `faster` says that another answer was faster."""

    def __init__(self, committed: list[Any], faster: Callable[[Any], bool] = lambda transition: False) -> None:
        self.committed, self.faster = committed, faster

    def load(self, handle: str) -> Any:
        return Open()

    def commit(self, transition: Any) -> bool:
        self.committed.append(transition)
        return not self.faster(transition)


class HoldTest(unittest.TestCase):
    """A fault after the commit of the hold releases it."""

    FAULTS = (
        idgate.NotAvailable("at fault"),
        idgate.InternalError("at fault"),
        idgate.Misconfigured("at fault"),
        ValueError("at fault"),
        RuntimeError("of the caller"),
    )

    def setUp(self) -> None:
        self.committed: list[Any] = []
        self.store = Store(self.committed)

    def kinds(self) -> list[type]:
        kinds = [type(one) for one in self.committed]
        self.committed.clear()
        return kinds

    def test_the_hold_is_released_after_every_failure(self) -> None:
        for fault in (*self.FAULTS, KeyboardInterrupt()):
            with self.assertRaises(type(fault)) as raised:
                _deciding.decide(Stopping(fault), self.store)
            self.assertIs(raised.exception, fault)
            self.assertEqual(self.kinds(), [Held, str])
        for fault in self.FAULTS:
            with self.assertRaises(type(fault)) as raised:
                asyncio.run(_deciding.decide_async(Stopping(fault), self.store))
            self.assertIs(raised.exception, fault)
            self.assertEqual(self.kinds(), [Held, str])

    def test_the_hold_is_released_at_the_callers_time(self) -> None:
        fault, now = self.FAULTS[0], datetime(2026, 1, 1, tzinfo=UTC)
        for named in (now, None):
            with self.assertRaises(type(fault)):
                _deciding.decide(Stopping(fault, now=named), self.store)
            with self.assertRaises(type(fault)):
                asyncio.run(_deciding.decide_async(Stopping(fault, now=named), self.store))
            self.assertEqual(self.committed[1::2], [f"released at {named}"] * 2)
            self.committed.clear()

    def test_an_overtaken_answer_releases_nothing(self) -> None:
        overtaken = idgate.NotAnAnswer("overtaken", code="session_not_pending")
        for decide in (_deciding.decide, lambda *given: asyncio.run(_deciding.decide_async(*given))):
            with self.assertRaises(idgate.NotAnAnswer):
                decide(Stopping(overtaken), self.store)
            self.assertEqual(self.kinds(), [Held])
            with self.assertRaises(idgate.NotAnAnswer):
                decide(Stopping(), Store(self.committed, lambda transition: True))
            self.assertEqual(self.kinds(), [Held])

    def test_the_hold_is_released_when_the_callers_fetch_fails(self) -> None:
        def fetch(_: idgate.Need) -> bytes:
            raise RuntimeError("of the caller")

        with self.assertRaises(RuntimeError):
            _deciding.decide(Stopping(fetch=fetch), self.store)
        self.assertEqual(self.kinds(), [Held, str])
        with self.assertRaises(RuntimeError):
            asyncio.run(_deciding.decide_async(Stopping(fetch=fetch), self.store))
        self.assertEqual(self.kinds(), [Held, str])

    def test_the_hold_is_released_when_the_caller_is_cancelled(self) -> None:
        class Waiting(Stopping):
            """Signals when it waits for its source."""

            def __init__(self, waits: Callable[[], None]) -> None:
                super().__init__()
                self.waits = waits

            def wait(self, wait_ms: int) -> bool:
                self.waits()
                return False

        class Commits:
            """A store whose commits end only when they are allowed to."""

            def __init__(_) -> None:
                _.begun, _.may_end = asyncio.Event(), asyncio.Event()

            async def commit(_, transition: Any) -> bool:
                _.begun.set()
                await _.may_end.wait()
                self.committed.append(transition)
                return True

            async def load(_, handle: str) -> Any:
                return handle

        async def while_committing(again: bool) -> None:
            commit = Commits()
            deciding = asyncio.create_task(_deciding.decide_async(Stopping(), commit))
            await commit.begun.wait()
            for _ in range(1 + again):
                deciding.cancel()
                # reason: one turn of the loop, which takes no time
                await asyncio.sleep(0)
            commit.may_end.set()
            with self.assertRaises(asyncio.CancelledError):
                await deciding

        async def while_waiting(again: bool) -> None:
            commit, waits = Commits(), asyncio.Event()
            commit.may_end.set()
            deciding = asyncio.create_task(_deciding.decide_async(Waiting(waits.set), commit))
            await waits.wait()
            commit.begun.clear()
            commit.may_end.clear()
            deciding.cancel()
            # It releases the hold.
            await commit.begun.wait()
            if again:
                deciding.cancel()
                # reason: one turn of the loop, which takes no time
                await asyncio.sleep(0)
            commit.may_end.set()
            with self.assertRaises(asyncio.CancelledError):
                await deciding

        async def until_time_is_up() -> None:
            commit, loop = Commits(), asyncio.get_running_loop()
            commit.may_end.set()
            async with asyncio.timeout(None) as limit:
                waiting = Waiting(lambda: limit.when() or limit.reschedule(loop.time()))
                await _deciding.decide_async(waiting, commit)

        for work in (while_committing, while_waiting):
            for again in (False, True):
                asyncio.run(work(again))
                self.assertEqual(self.kinds(), [Held, str])
        with self.assertRaises(TimeoutError):
            asyncio.run(until_time_is_up())
        self.assertEqual(self.kinds(), [Held, str])

    def test_a_failed_release_does_not_hide_the_first_error(self) -> None:
        class Failing(Store):
            def commit(self, transition: Any) -> bool:
                if isinstance(transition, str):
                    raise LookupError("the database is down")
                return True

        store = Failing(self.committed)
        for fault in self.FAULTS:
            with self.assertRaises(type(fault)) as raised:
                _deciding.decide(Stopping(fault), store)
            self.assertIs(raised.exception, fault)
            self.assertIsInstance(raised.exception.__context__, LookupError)
            with self.assertRaises(type(fault)) as raised:
                asyncio.run(_deciding.decide_async(Stopping(fault), store))
            self.assertIs(raised.exception, fault)
            self.assertIsInstance(raised.exception.__context__, LookupError)

    def test_a_hold_that_was_not_committed_is_not_released(self) -> None:
        class Failing(Store):
            def commit(self, transition: Any) -> bool:
                super().commit(transition)
                raise LookupError("the database is down")

        store = Failing(self.committed)
        with self.assertRaises(LookupError):
            _deciding.decide(Stopping(), store)
        with self.assertRaises(LookupError):
            asyncio.run(_deciding.decide_async(Stopping(), store))
        self.assertEqual(self.kinds(), [Held, Held])

    def test_over_http_a_failure_is_503_even_if_another_answer_was_faster(self) -> None:
        fault = self.FAULTS[0]

        class Verifier:
            async def decide_async(self, session: Any, answer: idgate.Answer, store: Any) -> idgate.Decision:
                return await _deciding.decide_async(Stopping(fault), store)

        for faster in (False, True):
            store = Store(self.committed, lambda transition: faster and isinstance(transition, str))
            endpoints = Endpoints(Verifier(), store)  # type: ignore[arg-type]
            with self.assertLogs("idgate", "ERROR"):
                reply = asyncio.run(endpoints.answer(Asked("POST", "ses_x", FORM, nothing)))
            self.assertEqual((reply.status, reply.headers["Retry-After"]), (503, "1"))
            self.assertEqual(json.loads(reply.body)["error"], "temporarily_unavailable")
            self.assertEqual(self.kinds(), [Held, str])


async def nothing() -> AsyncGenerator[bytes, None]:
    """An empty body."""
    for part in ():
        yield part


class Open:
    """A session that accepts an answer."""

    status = "PENDING"

    def info(self) -> Open:
        return self


class Held:
    """The transition of a hold, and its session."""

    @property
    def session(self) -> Held:
        return self

    def released(self, now: datetime | None) -> str:
        return f"released at {now}"


if __name__ == "__main__":
    unittest.main()
