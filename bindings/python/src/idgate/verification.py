"""A wallet's answer, from its first look to the decision."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypedDict

from idgate._native import lib

from . import _abi
from ._abi import Buffer
from .fetcher import Lazy
from .session import Transition
from .trust import Check


class Report(TypedDict):
    """Which checks of an answer were made, presentation by presentation, and what failed."""

    #: The rule and its clause; ``None``: nothing did.
    failed: str | None
    credentials: list[list[Check]]


@dataclass(frozen=True)
class Need:
    """A source to be fetched before a verdict is possible. Its URI comes from signed material."""

    index: int
    kind: Literal["status_list", "crl", "identifier_list"]
    uri: str
    #: The ``Accept`` header to fetch it with. Add nothing to it: some hosts compare it as a whole.
    accept: str
    #: The ``Accept`` header to fetch it with once more after 404, 406 or 415; ``None``: there is no other
    #: form.
    accept_otherwise: str | None = None


@dataclass(frozen=True)
class Ask:
    """Everything but the status is good. Commit ``hold``, fetch all needs at once, supply them."""

    hold: Transition
    needs: list[Need]


@dataclass(frozen=True)
class Decision:
    """Commit ``transition``, then answer the wallet."""

    transition: Transition
    #: ``accepted`` and ``error_noted``: 200 with ``body``; ``refused``: 400
    #: ``invalid_presentation``, whatever the reason.
    reply: Literal["accepted", "error_noted", "refused"]
    #: What the wallet is answered with, as JSON and as its profile has it; ``None`` when refused.
    body: dict[str, str] | None = field(repr=False)
    #: Where the wallet sends the person, when the session has that: it stands in ``body``.
    redirect_uri: str | None = field(repr=False)
    #: VERIFIED or FAILED.
    status: str
    #: Why it is FAILED, for you and never for the wallet.
    reason: str | None
    #: What the wallet said, when the reason is ``wallet_error``: a name of OpenID4VP 8.5, as
    #: ``access_denied``, or ``other``.
    wallet_error: str | None
    #: Which checks were made and what failed, for operators.
    report: Report


#: How long a fetch is waited for at a time, so that an interrupt is heard.
_WAIT_MS = 200
#: Between two looks at a fetch, in an event loop: twice as long each time.
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.001, 0.05


class Verification(_abi.Handle):
    """A wallet's answer under verification."""

    _free = lib.idgate_verification_free
    #: Who fetches when nobody else does.
    _fetcher: Lazy | None = None

    def __init__(self, pointer: Any, fetcher: Lazy | None = None) -> None:
        super().__init__(pointer)
        self._fetcher = fetcher

    def step(self) -> Ask | Decision:
        """Goes as far as possible without the world."""
        step = _abi.make("idgate_step", lib.idgate_verification_step, self._pointer)
        transition, told = Transition.take(step.transition), _abi.take_json(step.json)
        if step.kind == lib.IDGATE_STEP_NEED:
            needs = [Need(index, **need) for index, need in enumerate(told["needs"])]
            return Ask(transition, needs)
        return Decision(transition, **told)

    def supply(self, need: Need, body: Buffer | None, now: datetime | None = None) -> None:
        """Gives back what came of a need; ``None``: nothing that can be used came in time."""
        _abi.call(
            lib.idgate_verification_supply,
            self._pointer,
            need.index,
            body is None,
            *_abi.data(body),
            _abi.millis(now),
        )

    def decide(
        self,
        commit: Callable[[Transition], None],
        fetch: Callable[[Need], bytes | None] | None = None,
    ) -> Decision:
        """Steps to the end: commits the hold, then fetches all needs at once. What is known and fresh
        is neither held nor fetched. The decision's own transition is yours to commit.

        The verifier's fetcher does it, with bounds and without the GIL; with ``fetch=False`` there is
        none, and what would be fetched counts as unreachable. A ``fetch`` of your own takes its place,
        called on a thread for each need.

        Whatever fails after the hold was committed, it is given back (:meth:`Session.released`), so that
        the wallet may come again.

        :raises NotAvailable: a source could not be asked, by a fault of this machine.
        """
        held: Transition | None = None
        # It should return nothing; an ``async def`` returns a coroutine.
        returned: Callable[[Transition], object] = commit
        try:
            step = self.step()
            while isinstance(step, Ask):
                if fetch is not None or not self._recall():
                    _done(returned(step.hold), "commit")
                    held = step.hold
                    if fetch is None:
                        self._fetch(step)
                    else:
                        self._fetch_with(fetch, step)
                step = self.step()
            return step
        except BaseException as error:
            try:
                if held and (released := held.session.released()):
                    commit(released)
            except Exception:
                raise error  # who asked hears of the first fault, in the context of this one
            raise

    async def decide_async(
        self,
        commit: Callable[[Transition], Awaitable[None] | None],
        fetch: Callable[[Need], Awaitable[bytes | None] | bytes | None] | None = None,
    ) -> Decision:
        """The same in an event loop: the library works on a thread, and none waits for sources.
        ``commit`` and ``fetch`` may be coroutine functions; others run on threads, so that they too
        may wait. Who is cancelled waits for a ``commit`` that has begun, and the hold is given back."""
        holding: tuple[Transition, asyncio.Task[Any]] | None = None
        try:
            step = await asyncio.to_thread(self.step)
            while isinstance(step, Ask):
                if fetch is not None or not await asyncio.to_thread(self._recall):
                    committing = asyncio.ensure_future(awaited(commit, step.hold))
                    if holding is None or not _succeeded(holding[1]):
                        holding = step.hold, committing
                    await _ended(committing)
                    if fetch is None:
                        await self._fetch_async(step)
                    else:
                        fetched = await asyncio.gather(*(awaited(fetch, need) for need in step.needs))
                        self._supply_all(step, fetched)
                step = await asyncio.to_thread(self.step)
            return step
        except BaseException as error:
            try:
                if holding and _succeeded(holding[1]) and (released := holding[0].session.released()):
                    await _ended(asyncio.ensure_future(awaited(commit, released)))
            except Exception:
                raise error
            raise

    def _fetch(self, step: Ask) -> None:
        if self._begin(step):
            while not self._wait(_WAIT_MS):
                pass
            self._settle()

    def _fetch_with(self, fetch: Callable[[Need], bytes | None], step: Ask) -> None:
        with ThreadPoolExecutor(max(1, len(step.needs))) as pool:
            self._supply_all(step, [_done(body, "fetch") for body in pool.map(fetch, step.needs)])

    async def _fetch_async(self, step: Ask) -> None:
        if await asyncio.to_thread(self._begin, step):
            pause = _FIRST_PAUSE_S
            while not self._wait(0):
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_S)
            await asyncio.to_thread(self._settle)

    def _supply_all(self, step: Ask, bodies: list[bytes | None]) -> None:
        for need, body in zip(step.needs, bodies, strict=True):
            self.supply(need, body)

    def _recall(self) -> bool:
        """Whether the fetcher knew an answer."""
        if self._fetcher is None or not self._fetcher.on:
            return False
        fetcher = self._fetcher.get()
        recall = lib.idgate_verification_recall
        return bool(_abi.make("bool", recall, self._pointer, fetcher._pointer, _abi.millis(None)))

    def _begin(self, step: Ask) -> bool:
        """Whether something is under way; else nothing can be fetched, and that is supplied."""
        if self._fetcher is None or not self._fetcher.on:
            for need in step.needs:
                self.supply(need, None)
            return False
        fetcher = self._fetcher.get()
        _abi.call(lib.idgate_verification_fetch, self._pointer, fetcher._pointer)
        return True

    def _wait(self, wait_ms: int) -> bool:
        return bool(_abi.make("bool", lib.idgate_verification_wait, self._pointer, wait_ms))

    def _settle(self) -> None:
        _abi.call(lib.idgate_verification_settle, self._pointer, _abi.millis(None))


def _done(result: Any, name: str) -> Any:
    """``result``, unless it is one that has to be awaited, which nothing here does."""
    if inspect.iscoroutine(result):
        result.close()
    if inspect.isawaitable(result):
        raise TypeError(f"{name} is a coroutine function; await decide_async, which takes both")
    return result


async def awaited(work: Callable[[Any], Any], argument: Any) -> Any:
    """The result of ``work``: a coroutine function runs here, another one on a thread."""
    if inspect.iscoroutinefunction(work):
        return await work(argument)
    made = await asyncio.to_thread(work, argument)
    return await made if inspect.isawaitable(made) else made


async def _ended(task: asyncio.Task[Any]) -> None:
    """Waits for a commit to its end, also when cancelled: what it came to decides what is to be done."""
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    task.result()


def _succeeded(task: asyncio.Task[Any]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None
