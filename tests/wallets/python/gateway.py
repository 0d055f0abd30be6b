"""A real `idgate` on a free port with its own data directory, for operators and tenants."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "harness"))

from patience import PATIENCE  # noqa: E402

BINARY = os.environ.get("IDGATE_BIN", str(ROOT / "target" / "release" / "idgate"))


class Gateway:
    """Provisions a tenant, trusts issuers and serves; `test`: all of it in test mode; `settings`:
    `IDGATE_…` beside its own; `access` makes certificates for verifiers: with it the gateway has one."""

    def __init__(self, issuers, test=False, settings=None, access=None):
        self.dir = tempfile.mkdtemp(prefix="idgate-wallets-")
        self.settings = settings or {}
        self.process = None
        self.mode = ("--test",) if test else ()
        try:
            client = self.command("client", "create", "wallet-tests", *self.mode)
            self.api_key = client["api_key"]
            for issuer in issuers:
                self.trust(issuer)
            if access:
                access.certify_gateway(self)
            self.url = self._serve()
        except BaseException:
            self.stop()
            raise

    def command(self, *args):
        """Runs an operator command and returns the object that it prints."""
        command = [BINARY, *args, "--json"]
        done = subprocess.run(command, env=self._env(), check=True, stdout=subprocess.PIPE)
        return json.loads(done.stdout)

    def trust(self, issuer):
        """Trusts an issuer by its root certificate, of mdocs or of SD-JWT VCs, or by its bare key."""
        path = pathlib.Path(self.dir, "issuer")
        if root_pem := getattr(issuer, "root_pem", None):
            path.write_text(root_pem, encoding="utf-8")
            material = ("--root", str(path))
        elif sd_jwt_root_pem := getattr(issuer, "sd_jwt_root_pem", None):
            path.write_text(sd_jwt_root_pem, encoding="utf-8")
            material = ("--sd-jwt-root", str(path), "--vct", issuer.vct)
        else:
            path.write_text(issuer.key.export_public(), encoding="utf-8")
            material = ("--jwk", str(path), "--vct", issuer.vct)
        self.command("trust", "add", issuer.issuer_id, *material, *self.mode)

    def create_session(self, request):
        """POST /v1/sessions: the invitation."""
        return self._tenant("/v1/sessions", 201, request)

    def session(self, session_id, code=None):
        """GET /v1/sessions/{id}: the result. `code` is the one that the browser brought."""
        query = f"?response_code={code}" if code else ""
        return self._tenant(f"/v1/sessions/{session_id}{query}", 200)

    def relay(self, session_id, credential):
        """POST /v1/sessions/{id}/dc-api: relays the result of a page's browser. Returns status and answer."""
        return self._send(f"/v1/sessions/{session_id}/dc-api", credential)

    def stop(self):
        """Stops the server like an operator, and removes its data."""
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self.process:
            self.process.stdout.close()
        shutil.rmtree(self.dir, ignore_errors=True)

    def _send(self, target, body=None):
        headers = {"Authorization": f"Bearer {self.api_key}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
            body = json.dumps(body).encode()
        return send(urllib.request.Request(self.url + target, body, headers))

    def _tenant(self, target, expected, body=None):
        status, answer = self._send(target, body)
        if status != expected:
            raise AssertionError(f"{target}: {status} {answer}")
        return answer

    def _serve(self):
        self.process = subprocess.Popen(
            [BINARY, "serve"], env=self._env(), stdout=subprocess.PIPE, text=True
        )
        # Without this, a server that neither listens nor ends would block the loop below forever.
        timer = threading.Timer(PATIENCE, self.process.kill)
        timer.start()
        try:
            for line in self.process.stdout:
                if match := re.fullmatch(r"listening on (\S+)\n", line):
                    return match[1]
        finally:
            timer.cancel()
        raise RuntimeError("idgate ended, or did not listen in time")

    def _env(self):
        own = ("IDGATE_", "OID4VP_")
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(own)}
        return inherited | {
            "IDGATE_DATA_DIR": os.path.join(self.dir, "data"),
            "IDGATE_LISTEN": "127.0.0.1:0",
            "IDGATE_LOG": "warn",
            **self.settings,
        }


def send(request):
    """The status and JSON body of any answer."""
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def post_form(url, fields):
    """Posts a form like a wallet."""
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    body = urllib.parse.urlencode(fields).encode()
    return send(urllib.request.Request(url, body, headers))
