"""An `idgate sandbox` that offers its samples to wallets and requests them."""

import json
import pathlib
import subprocess
import sys
import urllib.request

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "openapi"))

from gateway import BINARY, PATIENCE, send  # noqa: E402
from patience import free_port  # noqa: E402
from sandbox import Sandbox  # noqa: E402


def sd_jwt_vc(issuer_id, claim):
    return {"id": "asked", "format": "dc+sd-jwt", "issuer_id": issuer_id, "claims": [claim]}


def mdoc(doc_type, namespace, claim):
    return {"id": "asked", "format": "mso_mdoc", "issuer_id": "phones", "doc_type": doc_type, "namespace": namespace,
            "claims": [claim]}


#: The credential that a session asks for, by sample.
SAMPLES = {
    "pid": sd_jwt_vc("phones", "given_name"),
    "membership": sd_jwt_vc("phone-membership", "membership_number"),
    "mdl": mdoc("org.iso.18013.5.1.mDL", "org.iso.18013.5.1", "family_name"),
    "pid-mdoc": mdoc("eu.europa.ec.eudi.pid.1", "eu.europa.ec.eudi.pid.1", "family_name"),
    "age": mdoc("eu.europa.ec.av.1", "eu.europa.ec.av.1", "age_over_18"),
}


class PhoneSandbox(Sandbox):
    """With `tls`, wallets read only addresses of the sandbox's https, under the root `tls_root`."""

    def __init__(self, tls=False):
        port = free_port() if tls else 0
        base = {"IDGATE_BASE_URL": f"https://localhost:{port}"} if tls else {}
        super().__init__({"IDGATE_LOG": "warn"} | base, https_port=port)

    @property
    def tls_root(self):
        """The root as PEM text."""
        return pathlib.Path(self.dir, "sandbox-ca.pem").read_text(encoding="utf-8")

    def offer(self, *options):
        """Runs `idgate sandbox offer` and returns its output."""
        command = [BINARY, "sandbox", "offer", *options, "--json", "--data-dir", self.dir]
        done = subprocess.run(command, env=self.env, check=True, stdout=subprocess.PIPE, timeout=PATIENCE)
        return json.loads(done.stdout)

    def withdraw(self):
        """Withdraws the samples of the newest offer, and returns their number."""
        return self._page(f"api/offers/{self.newest_offer()['id']}/withdraw", b"")["withdrawn"]

    def newest_offer(self):
        return self._page("api/offers")["offers"][0]

    def ask(self, sample, profile):
        """A session that asks for this sample."""
        wanted = {"credentials": [SAMPLES[sample]], "profile": profile}
        if profile == "haip":
            wanted["redirect_uri"] = "https://shop.example/done"
        return self._tenant("/v1/sessions", 201, wanted)

    def session(self, session_id, code=None):
        """GET /v1/sessions/{id}: the result. `code` is the one that the browser brought."""
        return self._tenant(f"/v1/sessions/{session_id}" + (f"?response_code={code}" if code else ""), 200)

    def _page(self, target, body=None):
        return answered(200, urllib.request.Request(self.page + target, body))

    def _tenant(self, target, expected, body=None):
        headers = {"Authorization": f"Bearer {self.api_key}", "Content-Type": "application/json"}
        body = None if body is None else json.dumps(body).encode()
        return answered(expected, urllib.request.Request(self.url + target, body, headers))


def answered(expected, request):
    """The body of an answer, which must have this status."""
    status, answer = send(request)
    if status != expected:
        raise AssertionError(f"{request.full_url}: {status} {answer}")
    return answer
