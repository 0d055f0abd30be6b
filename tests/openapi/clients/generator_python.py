"""The flow with the Python client of openapi-generator."""

import json
import os

import openapi_client
from openapi_client import (
    CreateSessionByCredential,
    CreateSessionByCredentialCredentialsInner,
    CredentialRequest,
    RequestedFormat,
    SessionRequest,
)

configuration = openapi_client.Configuration(
    host=os.environ["IDGATE_URL"], access_token=os.environ["IDGATE_API_KEY"]
)
sessions = openapi_client.SessionsApi(openapi_client.ApiClient(configuration))
asked = CredentialRequest(
    format=RequestedFormat.VC_PLUS_SD_MINUS_JWT,
    issuer_id=os.environ["ISSUER_ID"],
    claims=["given_name"],
    id="pid",
)
credential = CreateSessionByCredentialCredentialsInner(asked)
request = SessionRequest(CreateSessionByCredential(credentials=[credential]))
made = sessions.create_session(request)
print(made.qr_code_url, flush=True)
input()  # the wallet has answered
session = sessions.read_session(made.session_id)
details = session.verification_details
assert session.status == "VERIFIED" and session.expires_at == made.expires_at, session.status
assert details.verified_at < made.expires_at < details.credentials[0].valid_until
sessions.delete_session(made.session_id)
try:
    sessions.read_session(made.session_id)
except openapi_client.exceptions.NotFoundException as problem:
    print(session.claims["pid"]["given_name"], json.loads(problem.body)["error"])
