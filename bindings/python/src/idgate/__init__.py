"""Verifies digital identity and age credentials that wallets present over OpenID4VP."""

from . import webhook
from ._abi import instant
from .errors import IdgateError
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
from .trust import Check, ListedCertificate, ListedProvider, Presentation, Trust, TrustedList
from .verifier import (
    Ask,
    Comparison,
    DcApiRequest,
    DcApiRequests,
    Decision,
    Need,
    Verification,
    Verifier,
)

__all__ = [
    "Ask",
    "BrowserOffer",
    "Check",
    "Comparison",
    "DcApiRequest",
    "DcApiRequests",
    "Decision",
    "Effect",
    "IdgateError",
    "ListedCertificate",
    "ListedProvider",
    "Need",
    "Offer",
    "Presentation",
    "Profile",
    "Protocol",
    "Registration",
    "Result",
    "Session",
    "SessionInfo",
    "Signer",
    "Transition",
    "Trust",
    "TrustedList",
    "Verification",
    "Verifier",
    "did_document",
    "generate_signing_key",
    "instant",
    "jwks",
    "webhook",
]
