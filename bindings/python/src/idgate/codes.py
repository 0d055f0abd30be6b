"""The stable codes, the same in every language. A test compares them with the table of the library.

Each enumeration is text: ``info.status == "VERIFIED"`` holds. Attributes are annotated with the texts
(``StatusText``), so that a type checker finds a text that does not exist.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Literal


class Status(StrEnum):
    """The status of a session."""

    CREATED = "CREATED"
    PENDING = "PENDING"
    VERIFYING = "VERIFYING"
    VERIFIED = "VERIFIED"
    FAILED = "FAILED"
    EXPIRED = "EXPIRED"


class Profile(StrEnum):
    """A profile of OpenID4VP."""

    DRAFT = "draft"
    V1_0 = "1.0"
    HAIP = "haip"


class Reason(StrEnum):
    """Why a session is FAILED or EXPIRED, or a presentation is refused."""

    ISSUER_SIGNATURE_INVALID = "issuer_signature_invalid"
    UNTRUSTED_ISSUER = "untrusted_issuer"
    CHAIN_INVALID = "chain_invalid"
    CERTIFICATE_EXPIRED = "certificate_expired"
    CERTIFICATE_REVOKED = "certificate_revoked"
    REVOCATION_UNKNOWN = "revocation_unknown"
    CREDENTIAL_EXPIRED = "credential_expired"
    CREDENTIAL_NOT_YET_VALID = "credential_not_yet_valid"
    CREDENTIAL_REVOKED = "credential_revoked"
    CREDENTIAL_SUSPENDED = "credential_suspended"
    HOLDER_BINDING_MISSING = "holder_binding_missing"
    HOLDER_BINDING_INVALID = "holder_binding_invalid"
    NONCE_MISMATCH = "nonce_mismatch"
    AUDIENCE_MISMATCH = "audience_mismatch"
    KB_JWT_STALE = "kb_jwt_stale"
    SD_HASH_MISMATCH = "sd_hash_mismatch"
    DIGEST_MISMATCH = "digest_mismatch"
    DEVICE_AUTH_INVALID = "device_auth_invalid"
    DOC_TYPE_MISMATCH = "doc_type_mismatch"
    TYPE_MISMATCH = "type_mismatch"
    ALGORITHM_NOT_ALLOWED = "algorithm_not_allowed"
    CLAIM_MISSING = "claim_missing"
    CLAIM_FILTER_MISMATCH = "claim_filter_mismatch"
    SUBJECT_MISMATCH = "subject_mismatch"
    SUBMISSION_MISMATCH = "submission_mismatch"
    MALFORMED_PRESENTATION = "malformed_presentation"
    LIMIT_EXCEEDED = "limit_exceeded"
    WALLET_ERROR = "wallet_error"
    SESSION_EXPIRED = "session_expired"
    TRANSACTION_DATA_MISMATCH = "transaction_data_mismatch"
    CLIENT_REVOKED = "client_revoked"
    CANCELLED = "cancelled"


class WalletError(StrEnum):
    """The error that a wallet reported (OpenID4VP 8.5)."""

    ACCESS_DENIED = "access_denied"
    INVALID_REQUEST = "invalid_request"
    INVALID_CLIENT = "invalid_client"
    VP_FORMATS_NOT_SUPPORTED = "vp_formats_not_supported"
    INVALID_REQUEST_URI_METHOD = "invalid_request_uri_method"
    INVALID_TRANSACTION_DATA = "invalid_transaction_data"
    WALLET_UNAVAILABLE = "wallet_unavailable"
    INVALID_SCOPE = "invalid_scope"
    INVALID_REQUEST_URI = "invalid_request_uri"
    INVALID_REQUEST_OBJECT = "invalid_request_object"
    REQUEST_URI_NOT_SUPPORTED = "request_uri_not_supported"
    PROCESSING_ERROR = "processing_error"
    OTHER = "other"


class ErrorCode(StrEnum):
    """The code for an answer that changes nothing, or for a request that breaks a rule."""

    INVALID_REQUEST = "invalid_request"
    INVALID_JSON = "invalid_json"
    UNKNOWN_FIELD = "unknown_field"
    UNKNOWN_ISSUER = "unknown_issuer"
    UNSUPPORTED_FORMAT = "unsupported_format"
    INVALID_CURSOR = "invalid_cursor"
    INVALID_LIMIT = "invalid_limit"
    INVALID_WEBHOOK_ENDPOINT = "invalid_webhook_endpoint"
    INVALID_SCOPES = "invalid_scopes"
    INVALID_EXPIRY = "invalid_expiry"
    INVALID_API_KEY = "invalid_api_key"
    INVALID_ADMIN_TOKEN = "invalid_admin_token"
    INSUFFICIENT_SCOPE = "insufficient_scope"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    SESSION_NOT_PENDING = "session_not_pending"
    INVALID_RESPONSE = "invalid_response"
    STATE_MISMATCH = "state_mismatch"
    DECRYPTION_FAILED = "decryption_failed"
    INVALID_PRESENTATION = "invalid_presentation"
    PAYLOAD_TOO_LARGE = "payload_too_large"
    RATE_LIMITED = "rate_limited"
    TEMPORARILY_UNAVAILABLE = "temporarily_unavailable"
    INTERNAL_ERROR = "internal_error"
    METRICS_UNAVAILABLE = "metrics_unavailable"
    QUOTA_EXCEEDED = "quota_exceeded"
    UNSUPPORTED_PROFILE = "unsupported_profile"


class WithheldReason(StrEnum):
    """Why a reader may not have the result."""

    NOT_VERIFIED = "not_verified"
    RESPONSE_CODE_MISSING = "response_code_missing"
    RESPONSE_CODE_WRONG = "response_code_wrong"
    REDACTED = "redacted"

StatusText = Literal["CREATED", "PENDING", "VERIFYING", "VERIFIED", "FAILED", "EXPIRED"]
ProfileText = Literal["draft", "1.0", "haip"]
ReasonText = Literal[
    "issuer_signature_invalid",
    "untrusted_issuer",
    "chain_invalid",
    "certificate_expired",
    "certificate_revoked",
    "revocation_unknown",
    "credential_expired",
    "credential_not_yet_valid",
    "credential_revoked",
    "credential_suspended",
    "holder_binding_missing",
    "holder_binding_invalid",
    "nonce_mismatch",
    "audience_mismatch",
    "kb_jwt_stale",
    "sd_hash_mismatch",
    "digest_mismatch",
    "device_auth_invalid",
    "doc_type_mismatch",
    "type_mismatch",
    "algorithm_not_allowed",
    "claim_missing",
    "claim_filter_mismatch",
    "subject_mismatch",
    "submission_mismatch",
    "malformed_presentation",
    "limit_exceeded",
    "wallet_error",
    "session_expired",
    "transaction_data_mismatch",
    "client_revoked",
    "cancelled",
]
WalletErrorText = Literal[
    "access_denied",
    "invalid_request",
    "invalid_client",
    "vp_formats_not_supported",
    "invalid_request_uri_method",
    "invalid_transaction_data",
    "wallet_unavailable",
    "invalid_scope",
    "invalid_request_uri",
    "invalid_request_object",
    "request_uri_not_supported",
    "processing_error",
    "other",
]
ErrorCodeText = Literal[
    "invalid_request",
    "invalid_json",
    "unknown_field",
    "unknown_issuer",
    "unsupported_format",
    "invalid_cursor",
    "invalid_limit",
    "invalid_webhook_endpoint",
    "invalid_scopes",
    "invalid_expiry",
    "invalid_api_key",
    "invalid_admin_token",
    "insufficient_scope",
    "not_found",
    "method_not_allowed",
    "session_not_pending",
    "invalid_response",
    "state_mismatch",
    "decryption_failed",
    "invalid_presentation",
    "payload_too_large",
    "rate_limited",
    "temporarily_unavailable",
    "internal_error",
    "metrics_unavailable",
    "quota_exceeded",
    "unsupported_profile",
]
WithheldReasonText = Literal[
    "not_verified",
    "response_code_missing",
    "response_code_wrong",
    "redacted",
]

#: The status of HTTP that goes with a code, where it is not 400.
HTTP_STATUS: Final[dict[str, int]] = {
    ErrorCode.INVALID_API_KEY: 401,
    ErrorCode.INVALID_ADMIN_TOKEN: 401,
    ErrorCode.INSUFFICIENT_SCOPE: 403,
    ErrorCode.NOT_FOUND: 404,
    ErrorCode.METHOD_NOT_ALLOWED: 405,
    ErrorCode.SESSION_NOT_PENDING: 409,
    ErrorCode.PAYLOAD_TOO_LARGE: 413,
    ErrorCode.RATE_LIMITED: 429,
    ErrorCode.INTERNAL_ERROR: 500,
    ErrorCode.METRICS_UNAVAILABLE: 502,
    ErrorCode.TEMPORARILY_UNAVAILABLE: 503,
}
