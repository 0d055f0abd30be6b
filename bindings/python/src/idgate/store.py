"""Where you keep sessions."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol

from .session import Session, Transition


class Store(Protocol):
    """Where you keep sessions. Its methods may be coroutine functions, which run in the event loop; others run on
    threads there. Both may wait for a database."""

    def load(self, handle: str) -> Awaitable[Session | None] | Session | None:
        """The session with that id, or the one that has an offer with that handle."""
        ...

    def commit(self, transition: Transition) -> Awaitable[bool] | bool:
        """Stores ``transition.session`` where the stored revision still is ``from_revision`` (0: there is none yet)
        and says true; else false: another answer was faster."""
        ...
