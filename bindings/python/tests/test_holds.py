"""The hold of a verification that does not come to its end."""

from __future__ import annotations

import asyncio
import json
import unittest
from collections.abc import Callable
from typing import Any

import idgate
from idgate._web import Endpoints

FORM = "application/x-www-form-urlencoded"


class HoldTest(unittest.TestCase):
    """What fails once the hold is committed gives it back."""

    class Verification(idgate.Verification):
        """Needs a source, and gets as far as `fault` lets it."""

        def __init__(self, fault: BaseException | None = None) -> None:
            self._pointer, self.fault = None, fault

        def step(self) -> Any:
            return idgate.Ask(hold=Held(), needs=["source"])  # type: ignore[arg-type, list-item]

        def _recall(self) -> bool:
            return False

        def _begin(self, step: idgate.Ask) -> bool:
            if self.fault is not None:
                raise self.fault
            return True

        def _wait(self, wait_ms: int) -> bool:
            return False

    FAULTS = (
        *(idgate.IdgateError(kind, "x", "at fault") for kind in ("unavailable", "misuse", "internal", "config")),
        RuntimeError("of the caller"),
    )

    def setUp(self) -> None:
        self.committed: list[Any] = []

    def kinds(self) -> list[type]:
        kinds = [type(one) for one in self.committed]
        self.committed.clear()
        return kinds

    def test_the_hold_is_given_back_whatever_fails(self) -> None:
        for fault in (*self.FAULTS, KeyboardInterrupt()):
            with self.assertRaises(type(fault)) as raised:
                self.Verification(fault).decide(self.committed.append)
            self.assertIs(raised.exception, fault)
            self.assertEqual(self.kinds(), [Held, str])
        for fault in self.FAULTS:
            with self.assertRaises(type(fault)) as raised:
                asyncio.run(self.Verification(fault).decide_async(self.committed.append))
            self.assertIs(raised.exception, fault)
            self.assertEqual(self.kinds(), [Held, str])

    def test_the_hold_is_given_back_when_a_fetch_of_the_callers_own_fails(self) -> None:
        def fetch(_: idgate.Need) -> bytes:
            raise RuntimeError("of the caller")

        with self.assertRaises(RuntimeError):
            self.Verification().decide(self.committed.append, fetch)
        self.assertEqual(self.kinds(), [Held, str])
        with self.assertRaises(RuntimeError):
            asyncio.run(self.Verification().decide_async(self.committed.append, fetch))
        self.assertEqual(self.kinds(), [Held, str])

    def test_the_hold_is_given_back_when_the_caller_waits_no_longer(self) -> None:
        class Waiting(self.Verification):  # type: ignore[name-defined, misc]
            """Says when it waits for its source."""

            def __init__(self, waits: Callable[[], None]) -> None:
                super().__init__()
                self.waits = waits

            def _wait(self, wait_ms: int) -> bool:
                self.waits()
                return False

        class Commits:
            """Begin, and end once they may."""

            def __init__(_) -> None:
                _.begun, _.may_end = asyncio.Event(), asyncio.Event()

            async def __call__(_, transition: Any) -> None:
                _.begun.set()
                await _.may_end.wait()
                self.committed.append(transition)

        async def while_committing(again: bool) -> None:
            commit = Commits()
            deciding = asyncio.create_task(self.Verification().decide_async(commit))
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
            deciding = asyncio.create_task(Waiting(waits.set).decide_async(commit))
            await waits.wait()
            commit.begun.clear()
            commit.may_end.clear()
            deciding.cancel()
            # It gives the hold back.
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
                await Waiting(lambda: limit.when() or limit.reschedule(loop.time())).decide_async(commit)

        for work in (while_committing, while_waiting):
            for again in (False, True):
                asyncio.run(work(again))
                self.assertEqual(self.kinds(), [Held, str])
        with self.assertRaises(TimeoutError):
            asyncio.run(until_time_is_up())
        self.assertEqual(self.kinds(), [Held, str])

    def test_what_keeps_the_hold_from_being_given_back_hides_no_fault(self) -> None:
        def commit(transition: Any) -> None:
            if isinstance(transition, str):
                raise LookupError("somebody was faster")

        for fault in self.FAULTS:
            with self.assertRaises(type(fault)) as raised:
                self.Verification(fault).decide(commit)
            self.assertIs(raised.exception, fault)
            self.assertIsInstance(raised.exception.__context__, LookupError)
            with self.assertRaises(type(fault)) as raised:
                asyncio.run(self.Verification(fault).decide_async(commit))
            self.assertIs(raised.exception, fault)
            self.assertIsInstance(raised.exception.__context__, LookupError)

    def test_a_hold_that_was_not_committed_is_not_given_back(self) -> None:
        def commit(transition: Any) -> None:
            self.committed.append(transition)
            raise LookupError("somebody was faster")

        with self.assertRaises(LookupError):
            self.Verification().decide(commit)
        with self.assertRaises(LookupError):
            asyncio.run(self.Verification().decide_async(commit))
        self.assertEqual(self.kinds(), [Held, Held])

    def test_over_http_it_is_told_as_try_again_later_also_where_another_was_faster(self) -> None:
        class Store:
            def __init__(self, faster: bool) -> None:
                self.faster, self.committed = faster, committed

            def load(self, handle: str) -> Any:
                return handle

            def commit(self, transition: Any) -> bool:
                self.committed.append(transition)
                return not (self.faster and isinstance(transition, str))

        class Verifier:
            async def verify(_, *__: Any, commit: Any, fetch: Any, offer: Any) -> idgate.Decision:
                return await self.Verification(self.FAULTS[0]).decide_async(commit, fetch)

        committed = self.committed
        for faster in (False, True):
            endpoints = Endpoints(Verifier(), Store(faster))  # type: ignore[arg-type]
            reply = asyncio.run(endpoints.answer("ses_x", b"", FORM))
            self.assertEqual((reply.status, reply.headers["Retry-After"]), (503, "1"))
            self.assertEqual(json.loads(reply.body)["error"], "temporarily_unavailable")
            self.assertEqual(self.kinds(), [Held, str])


class Held:
    """The transition of a hold, and its session."""

    @property
    def session(self) -> Held:
        return self

    def released(self) -> str:
        return "released"


if __name__ == "__main__":
    unittest.main()
