"""A verification in steps, and the bodies that answer its needs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from . import _abi, _checks, _library
from ._checks import Buffer
from .fetcher import Fetching, Need


class Steps(_abi.Handle):
    """A verification in progress, with its way to fetch."""

    _free = _library.FREE_VERIFICATION
    fetching: Fetching
    #: The current time; ``None``: read the clock.
    now: datetime | None

    def __init__(self, pointer: Any, fetching: Fetching, now: datetime | None = None) -> None:
        super().__init__(pointer)
        self.fetching, self.now = fetching, now

    def supply(self, need: Need, body: Buffer | None, now: datetime | None = None) -> None:
        """Answers a need. ``None`` means that no usable body came in time."""
        given = None if body is None else _checks.octets(body, "body")
        index = _checks.instance(need, Need, "need").index
        _library.supply(self.pointer, index, given, self.now if now is None else now)

    def recall(self, fetcher: Any) -> bool:
        """Answers needs from the fetcher's cache. Returns whether it answered any."""
        return _library.recall(self.pointer, fetcher, self.now)

    def fetch(self, fetcher: Any) -> None:
        """Starts to fetch all needs."""
        _library.fetch(self.pointer, fetcher)

    def wait(self, wait_ms: int) -> bool:
        """Waits that long. Returns whether all fetches ended."""
        return _library.wait(self.pointer, wait_ms)

    def settle(self) -> None:
        """Answers the needs with the fetched bodies."""
        _library.settle(self.pointer, self.now)


def needs_of(told: Any) -> tuple[Need, ...]:
    """The needs of a step."""
    return tuple(Need(index, **need) for index, need in enumerate(told["needs"]))
