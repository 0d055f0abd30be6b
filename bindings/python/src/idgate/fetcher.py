"""Fetching status lists and CRLs, guarded: names in credentials lead where strangers like."""

from __future__ import annotations

import os
from collections.abc import Sequence
from threading import Lock

from idgate._native import lib

from . import _abi
from ._abi import Buffer


class Fetcher(_abi.Handle):
    """Fetches status lists and CRLs, and remembers them for as long as they say, a day at most: 1,024
    of them, and 64 MiB. While a source is down, its copy serves up to 24 hours beyond the time that
    the source said, but never past its own end: a CRL to its nextUpdate, however distant. One serves any
    number of verifiers and threads at once: make one and keep it. A process that was forked begins
    anew with it; fork while no other thread verifies, for what that locks stays locked in the child.

    >>> fetcher = Fetcher(allow=["10.20.0.0/16"])
    >>> trust = Trust()
    >>> trust.add_issuer("https://issuer.example")
    >>> verifier = Verifier("https://shop.example", trust, fetch=fetcher)
    """

    _free = lib.idgate_fetcher_free

    def __init__(self, *, allow: Sequence[str] = (), roots: str | Buffer | None = None) -> None:
        """Reaches public addresses, and those in ``allow``: ranges as ``10.0.0.0/8``. https servers
        need a certificate under a root of the operating system, or of ``roots`` in PEM.

        A name is resolved once, and the connection goes to an address that was checked. Redirects stay
        on the host; bodies have 10 MiB; all fetches of one answer have 5 seconds together. No proxy
        is used, whatever the environment says.

        :raises ConfigurationError: a range or the roots cannot be used.
        """
        if isinstance(allow, str):
            raise TypeError("allow is a sequence of ranges, as ['10.0.0.0/8']")
        text = roots if roots is None or isinstance(roots, str) else bytes(roots).decode("ascii", "replace")
        options = {"allow": list(allow), "roots": text}
        super().__init__(
            _abi.make("idgate_fetcher *", lib.idgate_fetcher_new, *_abi.data(_abi.as_json(options)))
        )


class Lazy:
    """The fetcher of a verifier. Those that were given none share one, so that its bounds hold for all of
    them; it is made when something has to be fetched: it reads the roots of the operating system."""

    _shared: Fetcher | None = None
    _making = Lock()

    def __init__(self, given: bool | Fetcher) -> None:
        if not isinstance(given, (bool, Fetcher)):
            raise TypeError("fetch is True, False or a Fetcher")
        self.on = given is not False
        self._given = given if isinstance(given, Fetcher) else None

    def get(self) -> Fetcher:
        """The fetcher."""
        if self._given is not None:
            return self._given
        with Lazy._making:
            if Lazy._shared is None:
                Lazy._shared = Fetcher()
            return Lazy._shared


def _after_fork() -> None:
    # Whoever had it is not here any more.
    Lazy._making = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
