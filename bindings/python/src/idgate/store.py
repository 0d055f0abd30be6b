"""Where you keep sessions."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol

from .session import Session, Transition


class Store(Protocol):
    """Your storage of sessions. Its methods may be coroutine functions, which run in the event loop. Other functions
    run on threads. Both may wait for a database."""

    def load(self, handle: str) -> Awaitable[Session | None] | Session | None:
        """The session with that id, or the session that has an offer with that handle."""
        ...

    def commit(self, transition: Transition) -> Awaitable[bool] | bool:
        """Stores ``transition.session`` if the stored revision is still ``from_revision`` (0: there is none yet), and
        returns true. Otherwise another answer was faster: returns false."""
        ...
