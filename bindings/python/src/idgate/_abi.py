"""The C ABI as Python values: handles, calls, bytes, times and errors. ``_library`` calls it.

Every call releases the GIL while the library works.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Self, cast

from idgate._native import ffi, lib

from . import _checks
from .codes import ErrorCodeText, ReasonText
from .errors import (
    HINTS,
    InternalError,
    Misconfigured,
    NotAnAnswer,
    NotAvailable,
    Refused,
    RequestInvalid,
)
from .reply import Reply

ABI_VERSION = 1
if lib.idgate_abi_version() != ABI_VERSION:
    raise ImportError(f"this package needs ABI {ABI_VERSION} of the native library")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
# The library's texts have no space around them to be skipped.
_decode = json.JSONDecoder().raw_decode


class NothingError(Exception):
    """The library has nothing to return."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


class Handle:
    """An object of the library. It is released by ``with``, by ``close()``, or when Python collects it."""

    _free: Callable[[Any], int]
    _pointer: Any
    #: Bound here, because at the interpreter's exit the names of this module may be gone before the last handle.
    _closed: Any = ffi.NULL

    def __init__(self, pointer: Any) -> None:
        self._pointer = pointer

    @property
    def pointer(self) -> Any:
        """The handle for the library."""
        if not self._pointer:
            raise ValueError(f"this {type(self).__name__} is closed")
        return self._pointer

    def close(self) -> None:
        """Releases the object now. Objects that were made with it keep working."""
        pointer, self._pointer = self._pointer, self._closed
        type(self)._free(pointer)

    def __reduce_ex__(self, _: Any) -> Any:
        raise TypeError(f"this {type(self).__name__} cannot be copied or pickled: pass it on as it is")

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


class Struct:
    """A struct for the library, and the values that its fields point to."""

    __slots__ = ("_held", "pointer")

    def __init__(self, kind: str, **fields: Any) -> None:
        """Texts and bytes become ``idgate_str``, lists of texts an array with its length; ``None`` is left out."""
        held: list[Any] = []
        values: dict[str, Any] = {"size": ffi.sizeof(kind)}
        for name, value in fields.items():
            if isinstance(value, (str, bytes)):
                values[name] = _text(value, held)
            elif isinstance(value, list):
                texts = ffi.new("idgate_str[]", [_text(text, held) for text in value])
                held.append(texts)
                values[name], values[f"{name}_len"] = texts, len(value)
            elif value is not None:
                values[name] = value
        self.pointer, self._held = ffi.new(f"{kind} *", values), held


def call(function: Callable[..., int], *arguments: Any) -> None:
    """Calls a function, and raises its error. Texts, bytes and ``None`` become ``idgate_str``."""
    held: list[Any] = []
    given = [_argument(argument, held) for argument in arguments]
    error = ffi.new("idgate_error **")
    status = function(*given, error)
    if status != 0:
        raise _exception(status, error[0])


def _argument(argument: Any, held: list[Any]) -> Any:
    if isinstance(argument, Struct):
        return argument.pointer
    if argument is None or isinstance(argument, (str, bytes)):
        text = ffi.new("idgate_str *", () if argument is None else _text(argument, held))
        held.append(text)
        return text[0]
    return argument


def _text(value: str | bytes, held: list[Any]) -> tuple[Any, int]:
    """The value as the fields of an ``idgate_str``. It lives as long as ``held``."""
    encoded = value.encode() if isinstance(value, str) else value
    buffer = ffi.from_buffer(encoded)
    held.append(buffer)
    return buffer, len(encoded)


def make(kind: str, function: Callable[..., int], *arguments: Any) -> Any:
    """Calls a function that has an output of that C type."""
    out = ffi.new(f"{kind} *")
    call(function, *arguments, out)
    return out[0]


def make_bytes(function: Callable[..., int], *arguments: Any) -> bytes:
    """Calls a function that returns bytes."""
    return take(make("idgate_bytes", function, *arguments))


def make_json(function: Callable[..., int], *arguments: Any) -> Any:
    """Calls a function that returns JSON."""
    return take_json(make("idgate_bytes", function, *arguments))


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


def string(given: Any) -> str:
    """The text of an ``idgate_str``, which the library keeps."""
    return str(ffi.buffer(given.ptr, given.len), "utf-8") if given.len else ""


def reply(function: Callable[..., int], owner: Any) -> Reply:
    """The reply of a step."""
    given = Struct("idgate_reply")
    call(function, owner, given)
    told = given.pointer
    body = bytes(ffi.buffer(told.body.ptr, told.body.len)) if told.body.len else b""
    return Reply(told.status, body, string(told.content_type), told.retry_after_s or None)


def millis(time: datetime | None) -> int:
    """The time, or the current time, in milliseconds since 1970."""
    time = datetime.now(UTC) if time is None else _checks.moment(time)
    if time < _EPOCH:
        raise ValueError("a time is before 1970")
    return (time - _EPOCH) // _MILLISECOND


def instant(ms: int) -> datetime:
    """The time of that count of milliseconds; :attr:`datetime.max` if it is later."""
    try:
        return _EPOCH + ms * _MILLISECOND
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)


def instant_or_none(ms: int | None) -> datetime | None:
    """The time of that count, if there is one."""
    return None if ms is None else instant(ms)


def _exception(status: int, error: Any) -> Exception:
    try:
        return _raised(status, *(string(part(error)) for part in _PARTS))
    finally:
        lib.idgate_error_free(error)


_PARTS = (
    lib.idgate_error_code,
    lib.idgate_error_message,
    lib.idgate_error_path,
    lib.idgate_error_issuer,
    lib.idgate_error_field,
    lib.idgate_error_check,
    lib.idgate_error_clause,
    lib.idgate_error_hint,
    lib.idgate_error_remedy,
)


def _raised(
    status: int,
    code: str,
    text: str,
    path: str,
    issuer: str,
    field: str,
    check: str,
    clause: str,
    hint: str,
    remedy: str,
) -> Exception:
    match status:
        case lib.IDGATE_NOTHING:
            return NothingError(code, text)
        case lib.IDGATE_REFUSED:
            reason = cast(ReasonText, code)
            return Refused(text, reason=reason, check=check or None, clause=clause or None, hint=HINTS.get(remedy))
        case lib.IDGATE_BAD_REQUEST:
            rule = text.removeprefix(f"{path}: " if path else "the request body ")
            return RequestInvalid(path, rule, code=cast(ErrorCodeText, code), hint=hint or None)
        case lib.IDGATE_BAD_RESPONSE:
            return NotAnAnswer(text, code=cast(ErrorCodeText, code))
        case lib.IDGATE_CONFIG:
            field = _FIELDS.get(field, field)
            return Misconfigured(text, issuer=issuer or None, field=field or None, hint=hint or None)
        case lib.IDGATE_MISUSE:
            return ValueError(text)
        case lib.IDGATE_UNAVAILABLE:
            return NotAvailable(text)
    return InternalError(text)


#: Fields of an issuer that have another name in Python.
_FIELDS = {"vct": "vcts", "issuer_id": "id"}
