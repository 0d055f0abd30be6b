"""Runs a verification to its decision, with the store and the fetches on the way: in a blocking thread, or in an event
loop. One presentation without a session needs no store."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from ._steps import Steps
from .errors import NotAnAnswer
from .fetcher import Need
from .presentation import Presentation
from .session import Transition
from .store import Store
from .verification import Ask, Decision, PresentationSteps, Verification

#: The longest wait for a fetch. Python handles an interrupt between two waits.
_WAIT_MS: Final = 200
#: The pause between two polls of a fetch in an event loop; it doubles each time.
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.001, 0.05


def decide(verification: Verification, store: Store) -> Decision:
    """Steps to the end: commits the hold, fetches all needs in parallel, and commits the decision. If fresh copies of
    all lists are cached, it neither holds nor fetches. If anything fails after the hold was committed, it releases the
    hold."""
    held: Transition | None = None
    try:
        step = verification.step()
        while isinstance(step, Ask):
            if not recall(verification):
                if held is None:  # the hold of a second round changes nothing
                    _commit(store, step.hold)
                    held = step.hold
                fetch(verification, step.needs)
            step = verification.step()
        _commit(store, step.transition)
        return step
    except NotAnAnswer:
        raise  # the session continued without this answer
    except BaseException as error:
        try:
            if held and (released := held.session.released(verification.now)):
                _done([store.commit(released)], "commit")
        except Exception:
            raise error  # the caller gets the first error, in the context of this one
        raise


async def decide_async(verification: Verification, store: Store) -> Decision:
    """The same in an event loop: the library works on a thread, and no thread waits for sources. A cancelled task waits
    for a ``commit`` that has begun, and releases the hold."""
    holding: tuple[Transition, asyncio.Task[Any]] | None = None
    try:
        step = await asyncio.to_thread(verification.step)
        while isinstance(step, Ask):
            if not await asyncio.to_thread(recall, verification):
                if holding is None:
                    holding = step.hold, asyncio.ensure_future(_commit_async(store, step.hold))
                    await _ended(holding[1])
                await fetch_async(verification, step.needs)
            step = await asyncio.to_thread(verification.step)
        await _ended(asyncio.ensure_future(_commit_async(store, step.transition)))
        return step
    except NotAnAnswer:
        raise
    except BaseException as error:
        try:
            if holding and _succeeded(holding[1]) and (released := holding[0].session.released(verification.now)):
                await _ended(asyncio.ensure_future(awaited(store.commit, released)))
        except Exception:
            raise error
        raise


def verify(steps: PresentationSteps) -> Presentation:
    """Steps to the end, and fetches all needs in parallel. There is nothing to commit."""
    step = steps.step()
    while not isinstance(step, Presentation):
        if not recall(steps):
            fetch(steps, step)
        step = steps.step()
    return step


async def verify_async(steps: PresentationSteps) -> Presentation:
    """The same in an event loop."""
    step = await asyncio.to_thread(steps.step)
    while not isinstance(step, Presentation):
        if not await asyncio.to_thread(recall, steps):
            await fetch_async(steps, step)
        step = await asyncio.to_thread(steps.step)
    return step


def recall(steps: Steps) -> bool:
    """Answers needs from the fetcher's cache. Returns whether it answered any."""
    fetching = steps.fetching
    return fetching.on and fetching.function is None and steps.recall(fetching.get().pointer)


def fetch(steps: Steps, needs: Sequence[Need]) -> None:
    """Answers all needs, from their sources."""
    function = steps.fetching.function
    if function is not None:
        with ThreadPoolExecutor(max(1, len(needs))) as pool:
            _supply(steps, needs, _done(list(pool.map(function, needs)), "fetch"))
    elif _begin(steps, needs):
        while not steps.wait(_WAIT_MS):
            pass
        steps.settle()


async def fetch_async(steps: Steps, needs: Sequence[Need]) -> None:
    """The same in an event loop."""
    function = steps.fetching.function
    if function is not None:
        fetched = await asyncio.gather(*(awaited(function, need) for need in needs))
        _supply(steps, needs, fetched)
    elif await asyncio.to_thread(_begin, steps, needs):
        pause = _FIRST_PAUSE_S
        while not steps.wait(0):
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)
        await asyncio.to_thread(steps.settle)


def _begin(steps: Steps, needs: Sequence[Need]) -> bool:
    """Starts the fetches. Returns whether any started; if fetching is off, it supplies ``None`` for each need."""
    if not steps.fetching.on:
        _supply(steps, needs, [None] * len(needs))
        return False
    steps.fetch(steps.fetching.get().pointer)
    return True


def _supply(steps: Steps, needs: Sequence[Need], bodies: Sequence[bytes | None]) -> None:
    for need, body in zip(needs, bodies, strict=True):
        steps.supply(need, body)


def _commit(store: Store, transition: Transition) -> None:
    _stored(*_done([store.commit(transition)], "commit"))


async def _commit_async(store: Store, transition: Transition) -> None:
    _stored(await awaited(store.commit, transition))


def _stored(stored: Any) -> None:
    if stored is None:
        raise TypeError("commit of the store returns None: return whether it stored the session")
    if not stored:
        raise NotAnAnswer("the session no longer accepts a response", code="session_not_pending")


def _done(results: list[Any], name: str) -> list[Any]:
    """The results. A result that has to be awaited is an error in this synchronous code."""
    for result in results:
        if inspect.iscoroutine(result):
            result.close()
    if any(map(inspect.isawaitable, results)):
        raise TypeError(f"{name} is a coroutine function: await the method that ends with _async, which takes both")
    return results


async def awaited(work: Callable[[Any], Any], argument: Any) -> Any:
    """The result of ``work``: a coroutine function runs in the event loop, any other function on a thread."""
    if inspect.iscoroutinefunction(work):
        return await work(argument)
    made = await asyncio.to_thread(work, argument)
    return await made if inspect.isawaitable(made) else made


async def _ended(task: asyncio.Task[Any]) -> None:
    """Waits for the end of a commit, also when cancelled: its outcome decides what to do next."""
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
