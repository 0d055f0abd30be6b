"""The calls of the native library. Each of its functions is called only here, except those for handles, bytes and
errors (``_abi``)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from idgate._native import ffi, lib

from . import _abi
from ._abi import NothingError
from .codes import WithheldReasonText
from .errors import Misconfigured, Withheld
from .issuer import LISTS, MATERIAL, Issuer, ListFile, ListReport, SkippedCertificate
from .reply import Reply

FREE_FETCHER = lib.idgate_fetcher_free
FREE_SESSION = lib.idgate_session_free
FREE_SIGNER = lib.idgate_signer_free
FREE_TRUST = lib.idgate_trust_free
FREE_VERIFICATION = lib.idgate_verification_free
FREE_VERIFIER = lib.idgate_verifier_free

#: A change to store: the revision that must be stored, the session, and the effects after the commit.
Change = tuple[int, Any, list[dict[str, Any]]]

# Trust.

_MATERIALS = {name: getattr(lib, f"IDGATE_{name.upper()}") for name in MATERIAL}


def trust(issuers: Sequence[Issuer]) -> tuple[Any, tuple[ListReport, ...]]:
    """A trust of these issuers, and the reports on their lists."""
    pointer = _abi.make("idgate_trust *", lib.idgate_trust_new)
    try:
        reports = [report for issuer in issuers for report in _add(pointer, issuer)]
    except BaseException:
        lib.idgate_trust_free(pointer)
        raise
    return pointer, tuple(reports)


def _add(pointer: Any, issuer: Issuer) -> list[ListReport]:
    try:
        _abi.call(lib.idgate_trust_add_issuer, pointer, json.dumps(issuer.entry))
    except Misconfigured as wrong:
        raise (_of_paths(issuer.id) if wrong.issuer is None else wrong) from None
    reports = []
    for field, at, content in issuer.material:
        file = content if isinstance(content, ListFile) else ListFile(content)
        report = ffi.new("idgate_bytes *")
        options = _abi.Struct(
            "idgate_material_options",
            flags=lib.IDGATE_TEST_ONLY * issuer.test_only + lib.IDGATE_ALLOW_STALE * file.allow_stale,
            now_ms=_abi.millis(file.now),
            signer_ca=file.signed_below,
            report_out=report,
        )
        try:
            _abi.call(
                lib.idgate_trust_add_material, pointer, issuer.id, _MATERIALS[field], file.content, options
            )
        except Misconfigured as wrong:
            raise (wrong if at is None else _of_several(wrong, issuer.id, field, at)) from None
        if field in LISTS:
            reports.append(_reported(issuer, field, _abi.take_json(report[0])))
        else:
            _abi.take(report[0])
    return reports


def _of_paths(issuer: str) -> Misconfigured:
    """The error for an issuer that cannot be read at all. Only its paths were not checked before."""
    why = "each must begin with the name of a member and have at most 32 names, and none of _sd, _sd_alg and ..."
    return Misconfigured(f"{issuer}: claim_paths: {why}", issuer=issuer, field="claim_paths")


def _of_several(wrong: Misconfigured, issuer: str, field: str, at: int) -> Misconfigured:
    """The same error with the index among the contents that were given for the field."""
    why = str(wrong).removeprefix(f"{issuer}: {field}: ")
    return Misconfigured(f"{issuer}: {field}[{at}]: {why}", issuer=issuer, field=field, hint=wrong.hint)


def _reported(issuer: Issuer, field: Any, told: Any) -> ListReport:
    is_trusted_list = isinstance(told, dict)
    certificates = told["certificates"] if is_trusted_list else told
    skipped = [one for one in certificates if one["skipped_because"]]
    return ListReport(
        issuer.id,
        field,
        len(certificates) - len(skipped),
        tuple(SkippedCertificate(one["subject"], one["skipped_because"]) for one in skipped),
        *(
            (_abi.instant(told["next_update_ms"]), told["list_type"], told["sequence"], told["organization"])
            if is_trusted_list
            else ()
        ),
    )


def begin_presentation(trust: Any, vp_token: str, expected: dict[str, Any], now: datetime | None) -> Any:
    """The verification of one presentation."""
    new = lib.idgate_presentation_begin
    struct = _abi.Struct("idgate_expected", **expected)
    return _abi.make("idgate_verification *", new, trust, vp_token, struct, _abi.millis(now))


FORMATS = {
    "dc+sd-jwt": lib.IDGATE_FORMAT_SD_JWT_VC,
    "vc+sd-jwt": lib.IDGATE_FORMAT_SD_JWT_VC,
    "mso_mdoc": lib.IDGATE_FORMAT_MDOC,
}
MODES = {"live": lib.IDGATE_MODE_LIVE, "test": lib.IDGATE_MODE_TEST}
PROFILES = {
    "draft": lib.IDGATE_PROFILE_DRAFT,
    "1.0": lib.IDGATE_PROFILE_1_0,
    "haip": lib.IDGATE_PROFILE_HAIP,
}


# Signers.


def signing_key() -> bytes:
    """A fresh P-256 key."""
    return _abi.make_bytes(lib.idgate_signing_key_generate)


def signer(base_url: str, key: bytes) -> Any:
    """A signer with a key in memory."""
    return _abi.make("idgate_signer *", lib.idgate_signer_new, base_url, key)


def external_signer(base_url: str, public_key: bytes, sign: Callable[[bytes], bytes]) -> tuple[Any, Any]:
    """A signer that calls a function, and the callback, which has to live as long as the signer is used."""

    def call(_: Any, data: Any, length: int, signature: Any) -> int:
        made = sign(bytes(ffi.buffer(data, length)))
        if len(made) != 64:
            return 2
        ffi.memmove(signature, made, 64)
        return 0

    function = ffi.callback("int32_t(void *, const uint8_t *, size_t, uint8_t *)", call, 1)
    new = lib.idgate_signer_new_external
    return _abi.make("idgate_signer *", new, base_url, public_key, function, ffi.NULL), function


def certified_signer(signer: Any, chain: bytes, now: datetime | None) -> Any:
    """A signer with the same key and a certificate."""
    return _abi.make("idgate_signer *", lib.idgate_signer_certified, signer, chain, _abi.millis(now))


def public_key(signer: Any) -> Any:
    """Its public JWK."""
    return _abi.make_json(lib.idgate_signer_public_key, signer)


def registration(signer: Any, jwt: str, now: datetime | None) -> Any:
    """The content of a registration certificate."""
    return _abi.make_json(lib.idgate_registration_check, signer, jwt, _abi.millis(now))


def did_document(base_url: str, keys: Sequence[Any]) -> Any:
    """The DID document."""
    return _abi.make_json(lib.idgate_did_document, base_url, json.dumps(keys))


def jwks(base_url: str, keys: Sequence[Any]) -> Any:
    """The JWK Set."""
    return _abi.make_json(lib.idgate_jwks, base_url, json.dumps(keys))


# Verifiers.

#: The choices of each option that is a text, with the numbers of the library.
CHOICES: dict[str, dict[str, int]] = {
    "request_mode": {"inline": lib.IDGATE_REQUEST_INLINE, "jar": lib.IDGATE_REQUEST_JAR},
    "client_id": {
        "did": lib.IDGATE_CLIENT_ID_DID,
        "x509_san_dns": lib.IDGATE_CLIENT_ID_X509_SAN_DNS,
        "x509_hash": lib.IDGATE_CLIENT_ID_X509_HASH,
    },
    "response_mode": {
        "direct_post": lib.IDGATE_RESPONSE_DIRECT_POST,
        "direct_post.jwt": lib.IDGATE_RESPONSE_DIRECT_POST_JWT,
    },
    "dc_api": {
        "unsigned": lib.IDGATE_DC_API_UNSIGNED,
        "signed": lib.IDGATE_DC_API_SIGNED,
        "multisigned": lib.IDGATE_DC_API_MULTISIGNED,
    },
}


def verifier(
    base_url: str,
    profiles: Sequence[str],
    options: dict[str, int],
    post: bool,
    signers: Sequence[Any],
    former: Sequence[Any],
    trust: Any,
    version: int,
) -> Any:
    """A verifier. ``options`` has numbers of ``CHOICES``."""
    made = _abi.make("idgate_verifier_options *", lib.idgate_verifier_options_new, base_url)
    try:
        for profile in profiles:
            _chosen(lib.idgate_verifier_options_profile(made, PROFILES[profile]))
        for signer in signers:
            _chosen(lib.idgate_verifier_options_signer(made, signer))
        for signer in former:
            _chosen(lib.idgate_verifier_options_former_signer(made, signer))
        for name, choice in options.items():
            _chosen(getattr(lib, f"idgate_verifier_options_{name}")(made, choice))
        if post:
            _chosen(lib.idgate_verifier_options_request_uri_post(made))
        _chosen(lib.idgate_verifier_options_trust_version(made, version))
        return _abi.make("idgate_verifier *", lib.idgate_verifier_new, made, trust)
    finally:
        lib.idgate_verifier_options_free(made)


def _chosen(status: int) -> None:
    if status != lib.IDGATE_OK:
        raise ValueError("a Signer was closed while the verifier was made")


def _new_session(
    live: bool, tenant: str = "", registration: str | None = None, strict: bool = False
) -> _abi.Struct:
    return _abi.Struct(
        "idgate_new_session",
        mode=MODES["live" if live else "test"],
        tenant=tenant,
        registration=registration,
        strict=strict,
    )


def create_session(
    verifier: Any,
    request: bytes,
    live: bool,
    tenant: str,
    registration: str | None,
    strict: bool,
    now: datetime | None,
) -> Change:
    """A session."""
    new, create = _new_session(live, tenant, registration, strict), lib.idgate_session_create
    return _change(_abi.make("idgate_transition", create, verifier, request, new, _abi.millis(now)))


def compare_registration(
    verifier: Any, registration: str, request: bytes, live: bool, now: datetime | None
) -> Any:
    """A registration certificate, compared with a request."""
    new, compare = _new_session(live, registration=registration), lib.idgate_registration_compare
    return _abi.make_json(compare, verifier, request, new, _abi.millis(now))


def request_object(
    verifier: Any, session: Any, asked: dict[str, str | bytes | None], now: datetime | None
) -> tuple[Reply, Change | None]:
    """The reply with the Request Object of an offer."""
    struct = _abi.Struct("idgate_asked", **asked)
    made = _abi.make("idgate_step *", lib.idgate_request_object, verifier, session, struct, _abi.millis(now))
    try:
        return _abi.reply(lib.idgate_step_reply, made), _change_of(made)
    finally:
        lib.idgate_step_free(made)


def dc_api_requests(verifier: Any, session: Any, now: datetime | None) -> Any:
    """The requests that a page passes to its browser."""
    return _abi.make_json(lib.idgate_dc_api_requests, verifier, session, _abi.millis(now))


# Sessions.


def restored(snapshot: bytes) -> Any:
    """The session of a snapshot."""
    return _abi.make("idgate_session *", lib.idgate_session_restore, snapshot)


def with_result(session: Any, result: bytes) -> Any:
    """The session with its result."""
    return _abi.make("idgate_session *", lib.idgate_session_restore_result, session, result)


def snapshot(session: Any) -> bytes:
    """The session as bytes."""
    return _abi.make_bytes(lib.idgate_session_snapshot, session)


def result_snapshot(session: Any, now: datetime | None) -> bytes | None:
    """The result as bytes."""
    try:
        return _abi.make_bytes(lib.idgate_session_result_snapshot, session, _abi.millis(now))
    except NothingError:
        return None


def info(session: Any, now: datetime | None) -> Any:
    """The facts of a session."""
    return _abi.make_json(lib.idgate_session_info, session, _abi.millis(now))


def result_for_backend(session: Any, now: datetime | None) -> Any:
    """Claims and details."""
    return _result(session, lib.IDGATE_READER_BACKEND, None, now)


def result_for_browser(session: Any, response_code: str | None, now: datetime | None) -> Any:
    """Claims and details for a browser with that code."""
    return _result(session, lib.IDGATE_READER_BROWSER, response_code, now)


def _result(session: Any, reader: int, response_code: str | None, now: datetime | None) -> Any:
    try:
        return _abi.make_json(lib.idgate_session_result, session, reader, response_code, _abi.millis(now))
    except NothingError as nothing:
        withheld = Withheld(str(nothing), reason=cast(WithheldReasonText, nothing.code))
    raise withheld


def followed(session: Any, now: datetime | None) -> Change | None:
    """The change after the person followed the link."""
    return _changed(lib.idgate_session_followed, session, now)


def due(session: Any, now: datetime | None) -> Change | None:
    """The change that is due at that time."""
    return _changed(lib.idgate_session_due, session, now)


def released(session: Any, now: datetime | None) -> Change | None:
    """The change that releases the hold."""
    return _changed(lib.idgate_session_released, session, now)


def _changed(function: Any, session: Any, now: datetime | None) -> Change | None:
    try:
        return _change(_abi.make("idgate_transition", function, session, _abi.millis(now)))
    except NothingError:
        return None


def _change(made: Any) -> Change:
    return int(getattr(made, "from")), made.session, _abi.take_json(made.effects)


def _change_of(step: Any) -> Change | None:
    made = _abi.make("idgate_transition", lib.idgate_step_transition, step)
    if made.session:
        return _change(made)
    _abi.take(made.effects)
    return None


# Verifications.


def begin(verifier: Any, session: Any, answer: dict[str, Any], now: datetime | None) -> Any:
    """The verification of an answer."""
    new, struct = lib.idgate_verification_begin, _abi.Struct("idgate_answer", **answer)
    return _abi.make("idgate_verification *", new, verifier, session, struct, _abi.millis(now))


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a verification."""

    is_decided: bool
    #: ``None``: the presentation has no session. The same holds for ``reply``.
    change: Change | None
    #: ``None``: not decided yet.
    reply: Reply | None
    told: Any


def step(verification: Any, has_session: bool) -> Step:
    """Runs until the verification is decided, or needs the network."""
    made = _abi.make("idgate_step *", lib.idgate_verification_step, verification)
    try:
        is_decided = lib.idgate_step_kind(made) == lib.IDGATE_STEP_DONE
        return Step(
            is_decided,
            _change_of(made) if has_session else None,
            _abi.reply(lib.idgate_step_reply, made) if has_session and is_decided else None,
            json.loads(_abi.string(lib.idgate_step_json(made))),
        )
    finally:
        lib.idgate_step_free(made)


def supply(verification: Any, need: int, body: bytes | None, now: datetime | None) -> None:
    """Answers a need."""
    _abi.call(lib.idgate_verification_supply, verification, need, body, _abi.millis(now))


# Fetching.


def fetcher(allow: list[str], roots: bytes | None) -> Any:
    """A fetcher."""
    options = _abi.Struct("idgate_fetch_options", allow=allow, roots=roots)
    return _abi.make("idgate_fetcher *", lib.idgate_fetcher_new, options)


def recall(verification: Any, fetcher: Any, now: datetime | None) -> bool:
    """Answers needs from the fetcher's cache. Returns whether it answered any."""
    known = lib.idgate_verification_recall
    return bool(_abi.make("bool", known, verification, fetcher, _abi.millis(now)))


def fetch(verification: Any, fetcher: Any) -> None:
    """Starts to fetch all needs."""
    _abi.call(lib.idgate_verification_fetch, verification, fetcher)


def wait(verification: Any, wait_ms: int) -> bool:
    """Waits that long. Returns whether all fetches ended."""
    return bool(_abi.make("bool", lib.idgate_verification_wait, verification, wait_ms))


def settle(verification: Any, now: datetime | None) -> None:
    """Answers the needs with the fetched bodies."""
    _abi.call(lib.idgate_verification_settle, verification, _abi.millis(now))


# Notifications.


def webhook_headers(secret: str, attempt: dict[str, Any], now: datetime | None) -> Any:
    """The headers of one attempt."""
    struct = _abi.Struct("idgate_webhook_attempt", **attempt)
    return _abi.make_json(lib.idgate_webhook_headers, secret, struct, _abi.millis(now))


def webhook_verify(secret: str, is_standard: bool, given: dict[str, Any], now: datetime | None) -> None:
    """Verifies a notification, by Standard Webhooks or by the gateway's own signature."""
    scheme = lib.IDGATE_WEBHOOK_STANDARD if is_standard else lib.IDGATE_WEBHOOK_GATEWAY
    struct = _abi.Struct("idgate_webhook", scheme=scheme, **given)
    _abi.call(lib.idgate_webhook_verify, secret, struct, _abi.millis(now))
