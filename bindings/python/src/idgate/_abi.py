"""The C ABI as Python values. No checks of its own: the library decides.

Every call releases the GIL while the library works.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Self

from idgate._native import ffi, lib

from .errors import IdgateError

ABI_VERSION = 1
if lib.idgate_abi_version() != ABI_VERSION:
    raise ImportError(f"this package needs ABI {ABI_VERSION} of the native library")

_KINDS = {
    1: "refused",
    2: "bad_request",
    3: "bad_response",
    4: "config",
    5: "misuse",
    6: "unavailable",
    7: "nothing",
    8: "internal",
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
# The library's texts have no space around them to be skipped.
_decode = json.JSONDecoder().raw_decode

Buffer = bytes | bytearray | memoryview


class Handle:
    """Something in the library that is given back: by ``with``, ``close()`` or in the end."""

    _free: Callable[[Any], int]

    def __init__(self, pointer: Any) -> None:
        self._pointer = pointer

    def close(self) -> None:
        """Gives it back now. What was made with it goes on working."""
        pointer, self._pointer = self._pointer, ffi.NULL
        type(self)._free(pointer)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_pointer", None):
            self.close()


def call(function: Callable[..., int], *arguments: Any) -> None:
    """Calls, and raises what the library says is wrong."""
    error = ffi.new("idgate_error **")
    status = function(*arguments, error)
    if status != 0:
        raise _exception(status, error[0])


def make(kind: str, function: Callable[..., int], *arguments: Any) -> Any:
    """Calls for an output of that C type."""
    out = ffi.new(f"{kind} *")
    call(function, *arguments, out)
    return out[0]


def make_bytes(function: Callable[..., int], *arguments: Any) -> bytes:
    """Calls for bytes."""
    out = ffi.new("idgate_bytes *")
    call(function, *arguments, out)
    return take(out[0])


def take(given: Any) -> bytes:
    """The bytes, which the library then wipes and frees."""
    try:
        return bytes(ffi.buffer(given.ptr, given.len)) if given.len else b""
    finally:
        lib.idgate_bytes_free(given)


def take_json(given: Any) -> Any:
    """The JSON value of bytes, which the library then wipes and frees."""
    try:
        return _decode(str(ffi.buffer(given.ptr, given.len), "utf-8"))[0]
    finally:
        lib.idgate_bytes_free(given)


def json_of(text: bytes) -> Any:
    """The JSON value."""
    return json.loads(text)


def data(value: str | Buffer | None) -> tuple[Any, int]:
    """Pointer and length of text or bytes."""
    if value is None:
        return ffi.NULL, 0
    # A copy of what others could change while the library reads it.
    encoded = value.encode() if isinstance(value, str) else bytes(memoryview(value))
    return ffi.from_buffer(encoded), len(encoded)


def as_json(value: Any) -> str | Buffer:
    """JSON as it is, or made of a value."""
    if isinstance(value, (str, bytes, bytearray, memoryview)):
        return value
    return json.dumps(value)


def millis(time: datetime | None) -> int:
    """The time, or now, as the library counts."""
    if time is None:
        time = datetime.now(UTC)
    if time.tzinfo is None:
        raise ValueError("the time has no time zone; write datetime.now(timezone.utc)")
    return (time - _EPOCH) // _MILLISECOND


def instant(ms: int) -> datetime:
    """The time of that count; :attr:`datetime.max` for what is later."""
    try:
        return _EPOCH + ms * _MILLISECOND
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)


def instant_or_none(ms: int | None) -> datetime | None:
    """The time of that count, if there is one."""
    return None if ms is None else instant(ms)


def _exception(status: int, error: Any) -> IdgateError:
    try:
        code, message, path, clause = (
            _text(part, error)
            for part in (
                lib.idgate_error_code,
                lib.idgate_error_message,
                lib.idgate_error_path,
                lib.idgate_error_clause,
            )
        )
    finally:
        lib.idgate_error_free(error)
    return IdgateError(_KINDS.get(status, "internal"), code, message, path, clause)


def _text(part: Callable[[Any, Any], int], error: Any) -> str:
    out = ffi.new("idgate_bytes *")
    return take(out[0]).decode() if part(error, out) == 0 else ""
