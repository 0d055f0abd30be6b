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
    kind: Literal["status_list", "crl"]
    uri: str
    #: The ``Accept`` header to fetch it with.
    accept: str


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


class Verification(_abi.Handle):
    """A wallet's answer under verification."""

    _free = lib.idgate_verification_free

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
        fetch: Callable[[Need], bytes | None],
    ) -> Decision:
        """Steps to the end: commits the hold, then fetches all needs at once, each on a thread of its
        own. The decision's own transition is yours to commit."""
        step = self.step()
        while isinstance(step, Ask):
            commit(step.hold)
            with ThreadPoolExecutor(max(1, len(step.needs))) as pool:
                fetched = list(pool.map(fetch, step.needs))
            for need, body in zip(step.needs, fetched, strict=True):
                self.supply(need, body)
            step = self.step()
        return step

    async def decide_async(
        self,
        commit: Callable[[Transition], Awaitable[None] | None],
        fetch: Callable[[Need], Awaitable[bytes | None] | bytes | None],
    ) -> Decision:
        """The same in an event loop: the library works on a thread. ``commit`` and ``fetch`` may be
        coroutine functions; others run on threads, so that they too may wait."""
        step = await asyncio.to_thread(self.step)
        while isinstance(step, Ask):
            await _awaited(commit, step.hold)
            fetched = await asyncio.gather(*(_awaited(fetch, need) for need in step.needs))
            for need, body in zip(step.needs, fetched, strict=True):
                self.supply(need, body)
            step = await asyncio.to_thread(self.step)
        return step


async def _awaited(work: Callable[[Any], Any], argument: Any) -> Any:
    if inspect.iscoroutinefunction(work):
        return await work(argument)
    made = await asyncio.to_thread(work, argument)
    return await made if inspect.isawaitable(made) else made
