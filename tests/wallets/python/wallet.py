"""An SD-JWT VC issuer and a wallet on the sd-jwt package (jwcrypto keys)."""

import json
import time
import urllib.parse

from jwcrypto.jwk import JWK
from sd_jwt.holder import SDJWTHolder
from sd_jwt.issuer import SDJWTIssuer

from gateway import post_form

CURVES = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}


class Issuer:
    """Issues credentials of one type under one name."""

    def __init__(self, issuer_id, vct, alg="ES256", typ="dc+sd-jwt"):
        self.issuer_id, self.vct, self.alg, self.typ = issuer_id, vct, alg, typ
        self.key = JWK.generate(kty="EC", crv=CURVES[alg])

    def issue(self, wallet, claims, decoys=False):
        """A credential; names and elements wrapped in SDObj are selectively disclosable."""
        now = int(time.time())
        payload = {"iss": self.issuer_id, "vct": self.vct, "iat": now, "exp": now + 3600}
        issuer = SDJWTIssuer(
            payload | claims,
            self.key,
            wallet.key,
            sign_alg=self.alg,
            add_decoy_claims=decoys,
            extra_header_parameters=self.header(),
        )
        return issuer.sd_jwt_issuance

    def header(self):
        """The members of a credential's header in addition to `alg`."""
        return {"typ": self.typ}


class Wallet:
    """Holds one key and answers requests with it."""

    def __init__(self, alg="ES256"):
        self.alg = alg
        self.key = JWK.generate(kty="EC", crv=CURVES[alg])

    def present(self, credential, disclose, request, nonce=None):
        """One presentation bound to the request, or to another nonce."""
        holder = SDJWTHolder(credential)
        holder.create_presentation(
            disclose,
            nonce=nonce or request["nonce"],
            aud=request["client_id"],
            holder_key=self.key,
            sign_alg=self.alg,
        )
        return holder.sd_jwt_presentation

    def answer(self, request, presentations):
        """Posts the presentations, in the order of the request's descriptors."""
        return post_answer(request, presentations)


def post_answer(request, presentations):
    """Posts presentations with the labels of their descriptors."""
    single = len(presentations) == 1
    definition = request["presentation_definition"]
    descriptor_map = [
        {
            "id": descriptor["id"],
            "format": next(iter(descriptor["format"])),
            "path": "$" if single else f"$[{index}]",
        }
        for index, descriptor in enumerate(definition["input_descriptors"])
    ]
    submission = {
        "id": "submission",
        "definition_id": definition["id"],
        "descriptor_map": descriptor_map,
    }
    fields = {
        "vp_token": presentations[0] if single else json.dumps(presentations),
        "presentation_submission": json.dumps(submission),
        "state": request["state"],
    }
    return post_form(request["response_uri"], fields)


def read_request(uri):
    """The parameters of an inline request, its JSON parameters parsed."""
    parts = urllib.parse.urlsplit(uri)
    pairs = urllib.parse.parse_qsl(parts.query, strict_parsing=True)
    request = dict(pairs)
    if len(request) != len(pairs):
        raise ValueError("a parameter is repeated")
    for name in ("presentation_definition", "client_metadata"):
        request[name] = json.loads(request[name])
    return request
