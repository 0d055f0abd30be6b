"""Verifies digital identity and age credentials that wallets present over OpenID4VP."""

from importlib.metadata import version

from . import webhook
from ._abi import instant
from .errors import ConfigurationError, IdgateError, NotAvailable, Refused
from .fetcher import Fetcher
from .session import (
    BrowserOffer,
    Effect,
    Offer,
    Profile,
    Protocol,
    Result,
    Session,
    SessionInfo,
    Transition,
)
from .signer import Registration, Signer, did_document, generate_signing_key, jwks
from .trust import (
    Check,
    ListedCertificate,
    ListedProvider,
    Presentation,
    Provider,
    Trust,
    TrustedList,
)
from .verification import Ask, Decision, Need, Report, Verification
from .verifier import Comparison, DcApiRequest, DcApiRequests, Verifier

__version__ = version("idgate")

__all__ = [
    "Ask",
    "BrowserOffer",
    "Check",
    "Comparison",
    "ConfigurationError",
    "DcApiRequest",
    "DcApiRequests",
    "Decision",
    "Effect",
    "Fetcher",
    "IdgateError",
    "ListedCertificate",
    "ListedProvider",
    "Need",
    "NotAvailable",
    "Offer",
    "Presentation",
    "Profile",
    "Protocol",
    "Provider",
    "Refused",
    "Registration",
    "Report",
    "Result",
    "Session",
    "SessionInfo",
    "Signer",
    "Transition",
    "Trust",
    "TrustedList",
    "Verification",
    "Verifier",
    "__version__",
    "did_document",
    "generate_signing_key",
    "instant",
    "jwks",
    "webhook",
]
