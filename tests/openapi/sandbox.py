"""An `idgate sandbox` on free ports, its wallet, and its notifications."""

import base64
import hashlib
import hmac
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "wallets" / "python"))

from gateway import BINARY, PATIENCE, send  # noqa: E402


class Sandbox:
    """A sandbox with these settings, `IDGATE_…`, and its https on this port."""

    def __init__(self, settings, https_port=0):
        self.dir = tempfile.mkdtemp(prefix="idgate-clients-")
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("IDGATE_")} | settings
        listeners = ("--listen", "127.0.0.1:0", "--page-listen", "127.0.0.1:0",
                     "--https-listen", f"127.0.0.1:{https_port}")
        try:
            self.process, begun = self._started("sandbox", "--json", *listeners)
        except BaseException:
            shutil.rmtree(self.dir, ignore_errors=True)
            raise
        self.url, self.page, self.api_key, self.signing_secret = (
            begun[name] for name in ("gateway_url", "page_url", "api_key", "signing_secret"))

    def answer(self, link):
        """Lets the built-in wallet accept the request in this link."""
        subprocess.run([BINARY, "sandbox", "wallet", link, "--data-dir", self.dir], env=self.env, check=True,
                       stdout=subprocess.PIPE, timeout=PATIENCE)

    def settle(self):
        """Creates a session, lets the wallet answer it, and returns its id."""
        asked = {"id": "pid", "format": "vc+sd-jwt", "issuer_id": "https://issuer.example", "claims": ["given_name"]}
        request = urllib.request.Request(
            f"{self.url}/v1/sessions", json.dumps({"profiles": ["1.0"], "credentials": [asked]}).encode(),
            {"Authorization": f"Bearer {self.api_key}", "Content-Type": "application/json"})
        status, created = send(request)
        if status != 201:
            raise AssertionError(f"{status} {created}")
        self.answer(created["qr_code_url"])
        return created["session_id"]

    def listen(self, to):
        """Forwards notifications to this address from now on. Returns a function that ends this."""
        process, _ = self._started("listen", "--json", "--forward", to, "--api-key", self.api_key)
        return lambda: ended(process)

    @staticmethod
    def notify(to, name, secret):
        """Posts a notification with this name, signed with this secret, and returns the status of the answer."""
        body = json.dumps({"sessionId": f"ses_{name}", "clientId": "cli_x", "status": "FAILED", "latencyMs": 1,
                           "issuerId": "https://issuer.example"}).encode()
        webhook_id, stamp = f"whf_{name}", str(int(time.time()))
        key = base64.b64decode(secret.removeprefix("whsec_"))
        signature = hmac.digest(key, f"{webhook_id}.{stamp}.".encode() + body, hashlib.sha256)
        headers = {"Content-Type": "application/json", "webhook-id": webhook_id, "webhook-timestamp": stamp,
                   "webhook-signature": "v1," + base64.b64encode(signature).decode()}
        try:
            with urllib.request.urlopen(urllib.request.Request(to, body, headers), timeout=PATIENCE) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            with error:
                return error.code

    def stop(self):
        ended(self.process)
        shutil.rmtree(self.dir, ignore_errors=True)

    def _started(self, *arguments):
        """Starts a command that keeps running. Returns the process and the first object that it printed."""
        process = subprocess.Popen([BINARY, *arguments, "--data-dir", self.dir], env=self.env,
                                   stdout=subprocess.PIPE, text=True)
        # A command that neither prints nor ends would block the read forever.
        timer = threading.Timer(PATIENCE, process.kill)
        timer.start()
        try:
            return process, json.loads(process.stdout.readline())
        except BaseException:
            ended(process)
            raise
        finally:
            timer.cancel()


def ended(process):
    process.kill()
    process.wait()
    process.stdout.close()
