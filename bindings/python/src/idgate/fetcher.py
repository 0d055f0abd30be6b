"""Fetching status lists and CRLs, with safeguards, because a stranger can choose the URLs in a credential."""

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
    """A source that must be fetched before the decision. Its URI comes from signed material."""

    index: int
    kind: Literal["status_list", "crl", "identifier_list"]
    uri: str
    #: The ``Accept`` header for the fetch. Add nothing to it: some hosts compare the whole value.
    accept: str
    #: The ``Accept`` header for a second fetch after 404, 406 or 415; ``None``: there is no other form.
    accept_otherwise: str | None = None


#: Returns the body of a need, or ``None`` if no usable body came in time. It must not raise. It may be a coroutine
#: function.
Fetch = Callable[[Need], Awaitable[bytes | None] | bytes | None]


class Fetcher(_abi.Handle):
    """Fetches status lists and CRLs, and caches them for as long as they say, but for a day at most. The cache holds up
    to 1,024 lists in 64 MiB. While a source is down, its copy serves up to 24 hours beyond the time that the source
    said, but never past its own end. For a CRL that end is its nextUpdate, however distant.

    Make one fetcher and keep it: it serves any number of verifiers and threads in parallel. A forked process starts
    with an empty cache. Fork while no other thread verifies, because a lock that another thread holds stays locked in
    the child.

    >>> fetcher = Fetcher(allow=["10.20.0.0/16"])
    >>> trust = Trust([Issuer("https://issuer.example")])
    >>> verifier = Verifier("https://shop.example", trust, profiles=["1.0"], fetch=fetcher)
    """

    _free = _library.FREE_FETCHER

    def __init__(self, *, allow: Sequence[str] = (), roots: str | Buffer | None = None) -> None:
        """Reaches public addresses and the ranges in ``allow``, for example ``10.0.0.0/8``. https servers need a
        certificate under a root of the operating system, or under one of ``roots`` in PEM.

        It resolves a name once and connects to an address that it checked. Redirects stay on the host. A body has at
        most 10 MiB, and all fetches for one answer take at most 5 seconds together. No proxy is used, whatever the
        environment says.

        :raises Misconfigured: a range or the roots cannot be used.
        """
        pem = None if roots is None else _checks.octets(roots, "roots")
        super().__init__(_library.fetcher(_checks.texts(allow, "allow"), pem))


class Fetching:
    """How a verifier, or one verification, fetches: with a fetcher, with a function of the caller, or not at all.
    Verifiers without a fetcher share one, so that its limits apply to all of them together. It is made for the first
    fetch, because it reads the roots of the operating system."""

    _shared: Fetcher | None = None
    _making = Lock()

    def __init__(self, given: bool | Fetcher | Fetch) -> None:
        if not (isinstance(given, (bool, Fetcher)) or callable(given)):
            raise TypeError("fetch must be True, False, a Fetcher or a function")
        self.on = given is not False
        self._given = given if isinstance(given, Fetcher) else None
        #: The function of the caller.
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
    # The thread that held the lock does not exist in this process.
    Fetching._making = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
