"""Verifies digital identity and age credentials that wallets present over OpenID4VP."""

from importlib.metadata import version

from . import webhook
from .codes import ErrorCode, Profile, Reason, Status, WalletError, WithheldReason
from .errors import (
    ClaimsError,
    IdgateError,
    InternalError,
    Misconfigured,
    NotAnAnswer,
    NotAvailable,
    Refused,
    RequestInvalid,
    Withheld,
)
from .fetcher import Fetch, Fetcher, Need
from .issuer import Issuer, ListFile, ListReport, SkippedCertificate
from .presentation import (
    Check,
    ListedProvider,
    Presentation,
    Provider,
    RevocationDetails,
)
from .reply import Reply
from .request import (
    Alg,
    ClaimFilter,
    CredentialSet,
    EuAge,
    Mdoc,
    Pages,
    Request,
    RequestOfIssuer,
    SdJwtVc,
)
from .session import (
    Backend,
    Browser,
    BrowserOffer,
    Effect,
    ExpireAt,
    Mode,
    Offer,
    Protocol,
    PublishStatus,
    Reader,
    RedactClaimsAt,
    Result,
    Session,
    SessionInfo,
    Transition,
)
from .signer import Registration, Signer, did_document, generate_signing_key, jwks
from .store import Store
from .trust import Trust
from .verification import Answer, Ask, Decision, Report, Verification
from .verifier import Comparison, DcApiRequest, DcApiRequests, RequestObject, Verifier
from .webhook import Webhook

__version__ = version("idgate")

__all__ = [
    "Alg",
    "Answer",
    "Ask",
    "Backend",
    "Browser",
    "BrowserOffer",
    "Check",
    "ClaimFilter",
    "ClaimsError",
    "Comparison",
    "CredentialSet",
    "DcApiRequest",
    "DcApiRequests",
    "Decision",
    "Effect",
    "ErrorCode",
    "EuAge",
    "ExpireAt",
    "Fetch",
    "Fetcher",
    "IdgateError",
    "InternalError",
    "Issuer",
    "ListFile",
    "ListReport",
    "ListedProvider",
    "Mdoc",
    "Misconfigured",
    "Mode",
    "Need",
    "NotAnAnswer",
    "NotAvailable",
    "Offer",
    "Pages",
    "Presentation",
    "Profile",
    "Protocol",
    "Provider",
    "PublishStatus",
    "Reader",
    "Reason",
    "RedactClaimsAt",
    "Refused",
    "Registration",
    "Reply",
    "Report",
    "Request",
    "RequestInvalid",
    "RequestObject",
    "RequestOfIssuer",
    "Result",
    "RevocationDetails",
    "SdJwtVc",
    "Session",
    "SessionInfo",
    "Signer",
    "SkippedCertificate",
    "Status",
    "Store",
    "Transition",
    "Trust",
    "Verification",
    "Verifier",
    "WalletError",
    "Webhook",
    "Withheld",
    "WithheldReason",
    "__version__",
    "did_document",
    "generate_signing_key",
    "jwks",
    "webhook",
]
