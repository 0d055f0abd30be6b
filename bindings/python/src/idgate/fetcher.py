"""Fetching status lists and CRLs, guarded: a stranger chooses the URLs in a credential."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Literal

from . import _abi, _checks, _library
from ._checks import Buffer


@dataclass(frozen=True, slots=True)
class Need:
    """A source to be fetched before a verdict is possible. Its URI comes from signed material."""

    index: int
    kind: Literal["status_list", "crl", "identifier_list"]
    uri: str
    #: The ``Accept`` header to fetch it with. Add nothing to it: some hosts compare it as a whole.
    accept: str
    #: The ``Accept`` header to fetch it with once more after 404, 406 or 415; ``None``: there is no other form.
    accept_otherwise: str | None = None


#: Gets the body of a need, or ``None`` when nothing that can be used came in time; it raises nothing. It may be a
#: coroutine function.
Fetch = Callable[[Need], Awaitable[bytes | None] | bytes | None]


class Fetcher(_abi.Handle):
    """Fetches status lists and CRLs, and remembers them for as long as they say, a day at most: 1,024
    of them, and 64 MiB. While a source is down, its copy serves up to 24 hours beyond the time that
    the source said, but never past its own end: a CRL to its nextUpdate, however distant. One serves any
    number of verifiers and threads at once: make one and keep it. A forked process starts over with it; fork while
    no other thread verifies, because a lock that another thread holds stays locked in the child.

    >>> fetcher = Fetcher(allow=["10.20.0.0/16"])
    >>> trust = Trust([Issuer("https://issuer.example")])
    >>> verifier = Verifier("https://shop.example", trust, profiles=["1.0"], fetch=fetcher)
    """

    _free = _library.FREE_FETCHER

    def __init__(self, *, allow: Sequence[str] = (), roots: str | Buffer | None = None) -> None:
        """Reaches public addresses, and those in ``allow``, ranges like ``10.0.0.0/8``. https servers
        need a certificate under a root of the operating system, or of ``roots`` in PEM.

        A name is resolved once, and the connection goes to an address that was checked. Redirects stay
        on the host; bodies have 10 MiB; all fetches of one answer have 5 seconds together. No proxy
        is used, whatever the environment says.

        :raises Misconfigured: a range or the roots cannot be used.
        """
        pem = None if roots is None else _checks.octets(roots, "roots")
        super().__init__(_library.fetcher(_checks.texts(allow, "allow"), pem))


class Fetching:
    """The way that a verifier, or one verification, fetches: a fetcher, a function of the caller, or not at all.
    Those that were given no fetcher share one, so that its bounds hold for all of them; it is made when something has
    to be fetched, because it reads the roots of the operating system."""

    _shared: Fetcher | None = None
    _making = Lock()

    def __init__(self, given: bool | Fetcher | Fetch) -> None:
        if not (isinstance(given, (bool, Fetcher)) or callable(given)):
            raise TypeError("fetch must be True, False, a Fetcher or a function")
        self.on = given is not False
        self._given = given if isinstance(given, Fetcher) else None
        #: The function.
        self.function: Fetch | None = None if isinstance(given, (bool, Fetcher)) else given

    def get(self) -> Fetcher:
        """The fetcher."""
        if self._given is not None:
            return self._given
        with Fetching._making:
            if Fetching._shared is None:
                Fetching._shared = Fetcher()
            return Fetching._shared


def _after_fork() -> None:
    # The thread that held it is not in this process.
    Fetching._making = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
