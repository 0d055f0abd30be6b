"""The flow with a client of openapi-python-client."""

import os

from idgate_client import AuthenticatedClient
from idgate_client.api.sessions import create_session, delete_session, read_session
from idgate_client.models import CreateSessionByCredential, CredentialRequest, RequestedFormat

client = AuthenticatedClient(os.environ["IDGATE_URL"], token=os.environ["IDGATE_API_KEY"])
asked = CredentialRequest(
    format_=RequestedFormat.VCSD_JWT, issuer_id=os.environ["ISSUER_ID"], claims=["given_name"], id="pid"
)
made = create_session.sync(client=client, body=CreateSessionByCredential(credentials=[asked]))
print(made.qr_code_url, flush=True)
input()  # the wallet has answered
session = read_session.sync(made.session_id, client=client)
details = session.verification_details
assert session.status == "VERIFIED" and session.expires_at == made.expires_at, session.status
assert details.verified_at < made.expires_at < details.credentials[0].valid_until
assert delete_session.sync_detailed(made.session_id, client=client).status_code == 204
gone = read_session.sync(made.session_id, client=client)
print(session.claims["pid"]["given_name"], gone.error)
