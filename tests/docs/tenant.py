"""The pages about the HTTP API: a tenant's requests, the answers to them, its page and its receiver."""

from __future__ import annotations

import http.server
import json
import re
import subprocess
import threading
import urllib.request

from blocks import ROOT, Block
from scene import GATEWAY, PATIENCE, RECEIVER, SANDBOX, Gateway

#: Further members of answers, because this sandbox has more turned on than the page shows.
OF_OTHERS = {"profile", "page_url", "page_code", "response_code"}
#: `gateway` as the page describes it, and the rest of a tenant's program. The browser's wallet declines;
#: tests/shop/recipe.test.js has one that accepts.
TENANT = """
let sessionId
const credential = { protocol: 'openid4vp-v1-unsigned', data: { error: 'access_denied' } }
const id = 'own'
async function gateway(path, body) {
  const headers = { authorization: `Bearer ${process.env.API_KEY}`, 'content-type': 'application/json' }
  const post = body && { method: 'POST', body: JSON.stringify(body) }
  const answer = await fetch(process.env.GATEWAY + path, { headers, ...post })
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  const told = await answer.json()
  sessionId ??= told.session_id
  return told
}
const answerWith = (told) => console.log(JSON.stringify(told))
const redirect = (url) => console.log(`led to ${url}`)
"""
#: The parts of a browser that the page uses.
BROWSER = """
const elements = { [%(button)s]: {} }
globalThis.document = { getElementById: (id) => elements[id] }
globalThis.location = { assign: (link) => { console.log(`the link ${link}`); process.exit(0) } }
const answered = { protocol: 'openid4vp-v1-unsigned', data: {} }
if (%(dialogue)s) {
  globalThis.DigitalCredential = { userAgentAllowsProtocol: () => true }
  Object.defineProperty(globalThis, 'navigator', { value: { credentials: { get: async () => answered } } })
}
globalThis.EventSource = class { addEventListener() {} close() {} }
globalThis.fetch = async (url, options) => ({ ok: true, json: async () => {
  if (url === '/age') return { id: 'a', link: 'openid4vp://?x', dc_api: { requests: [answered] } }
  if (url === '/age/a/dc-api' && options.method === 'POST') return {}
  if (url === '/age/a') return { adult: true }
  throw new Error(url)
} })
"""


class Integrate(Gateway):
    """A sandbox with the issuers on the page, and a tenant's page and receiver."""

    def prepare(self) -> None:
        world = self.world
        world.run("export IDGATE_DC_API=unsigned")
        world.run_all("idgate sandbox --data-dir sandbox")
        with urllib.request.urlopen(f"{SANDBOX}/files/iaca.pem", timeout=PATIENCE) as answer:
            (world.clone / "iaca.pem").write_bytes(answer.read())
        world.run_all(
            "idgate --data-dir sandbox trust add https://dmv.example --test --root iaca.pem\n"
            "idgate --data-dir sandbox client origin add cli_… https://shop.example\n")
        world.replaced["idgate listen"] = "idgate --data-dir sandbox listen"
        self.received: list[tuple[dict[str, str], bytes]] = []
        self.asked: list[object] = []

    def settled(self, body: object, do: str = "accept") -> dict:
        _, made = self.ask("/v1/sessions", body)
        self.world.run_all(f"idgate sandbox wallet '{made['qr_code_url']}' --do {do} --data-dir sandbox")
        return self.ask(f"/v1/sessions/{made['session_id']}")[1]

    PID = {"id": "pid", "format": "vc+sd-jwt", "issuer_id": "https://issuer.example",
           "claims": ["given_name", "birthdate"]}
    LICENCE = {"id": "mdl", "format": "mso_mdoc", "issuer_id": "https://dmv.example", "claims": ["age_over_17"]}

    def json(self, block: Block, value) -> None:
        if "request" in block.marks:
            way = {"sessions.md": ("POST", "/v1/sessions"), "webhooks.md": ("PUT", "/v1/webhook-endpoint"),
                   "api-keys.md": ("POST", "/v1/api-keys")}[block.page]
            if block.page == "webhooks.md":
                status, told = self.ask(way[1], value, way[0])
                assert status in (200, 201), told
                return
            status, told = self.ask(way[1], value, way[0])
            assert status == 201, f"{block}: {status} {told}"
            self.asked.append(told)
        elif block.page == "sessions.md":
            same_shape(value, self.asked[-1])
        elif block.heading == "The result" and "session_id" in value:
            same_shape(value, self.settled({"credentials": [self.PID]}))
        elif block.heading == "The result":
            result = self.settled({"credentials": [self.LICENCE]})
            same_shape(value | {"decided_by": {}}, result["verification_details"]["credentials"][0]
                       | {"decided_by": {}})
            assert "decided_by" in result["verification_details"]["credentials"][0], result
        elif block.page == "live-events.md":
            session = self.settled({"credentials": [self.PID]}, "wrong-nonce")
            same_shape(value, self.last_message(session["session_id"]))
        elif block.heading == "Verification report":
            session = self.settled({"credentials": [self.PID]}, "wrong-nonce")
            report = self.ask(f"/v1/sessions/{session['session_id']}/report")[1]
            [good, failed] = value["credentials"][0]["checks"]
            checks = report["credentials"][0]["checks"]
            same_shape(good, checks[0])
            same_shape(failed, checks[-1])
            same_shape(value | {"credentials": []}, report | {"credentials": []})
        elif block.page == "audit-log.md":
            self.settled({"credentials": [self.PID]}, "wrong-nonce")
            same_shape(value, self.ask("/v1/audit-log?limit=1")[1])
        else:
            raise AssertionError(f"{block}: nothing to compare it with")

    def last_message(self, session: str) -> dict:
        key = re.findall(r"sk_test_\w+", self.world.told)[-1]
        request = urllib.request.Request(f"{GATEWAY}/v1/sessions/{session}/events",
                                         headers={"Authorization": f"Bearer {key}"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            messages = [json.loads(line[6:]) for line in answer.read().decode().splitlines() if line.startswith("data: ")]
        return messages[-2]

    def code(self, block: Block) -> None:
        if block.language == "http":
            self.notification(block)
        elif block.language == "html":
            self.page(block)
        else:
            self.program(block)

    def notification(self, block: Block) -> None:
        """The receiver gets the headers and the body in the example."""
        scene = self

        class Receiver(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                scene.received.append(({name.lower(): value for name, value in self.headers.items()}, body))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 3000), Receiver)
        threading.Thread(target=receiver.serve_forever, daemon=True).start()
        self.world.endings += [receiver.shutdown, receiver.server_close]
        status, told = self.ask("/v1/webhook-endpoint", {"url": f"{RECEIVER}/hooks/idgate"}, "PUT")
        assert status == 200, told
        self.settled({"credentials": [self.PID]})
        assert self.world.wait_for(lambda: self.received), "no notification"
        headers, body = self.received[-1]
        head, shown = block.text.split("\n\n")
        for line in head.splitlines()[1:]:
            assert line.split(":")[0].lower() in headers, line
        same_shape(json.loads(shown), json.loads(body))

    def node(self, code: str, *flags: str) -> str:
        file = self.world.folder / "tmp" / "block.mjs"
        file.write_text(code)
        key = re.findall(r"sk_test_\w+", self.world.told)[-1]
        ran = subprocess.run(("node", *flags, file), capture_output=True, text=True, timeout=PATIENCE,
                             env=self.world.environment() | {"API_KEY": key, "GATEWAY": GATEWAY})
        assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}"
        return ran.stdout

    def page(self, block: Block) -> None:
        """The button ends with the answer in a browser with a dialogue, and at the link in any other."""
        script = re.search(r"<script type=\"module\">(.*?)</script>", block.text, re.DOTALL)[1]
        script = script.replace("'/idgate.js'", json.dumps(str(ROOT / "bindings/browser/idgate.js")))
        button = re.search(r"<button id=\"(\w+)\"", block.text)[1]
        for dialogue, printed in ((True, "true"), (False, "the link openid4vp://?x")):
            told = self.node(BROWSER % {"button": json.dumps(button), "dialogue": json.dumps(dialogue)}
                             + script.replace("import {", "const {").replace("} from ", "} = await import(").replace(
                                 "idgate.js\"", "idgate.js\")")
                             + f"\nawait document.getElementById({json.dumps(button)}).onclick()\n")
            assert told.strip() == printed, told

    def program(self, block: Block) -> None:
        text = block.text
        if "WebSocket" in text:
            session = self.settled({"credentials": [self.PID]})
            text = text.replace("wss://gateway.example", GATEWAY.replace("http", "ws")).replace("ses_…", session["session_id"])
            told = self.node(f"const apiKey = process.env.API_KEY\nconst stop = (error) => {{ throw error }}\n{text}\n"
                             "const read = stream.onmessage\nstream.onmessage = (event) => { read(event);"
                             " console.log(JSON.parse(event.data).status) }\nstream.onerror = stop\n",
                             "--experimental-websocket", "--no-warnings")
            # The first session fetches its status list, and is VERIFYING meanwhile.
            told = [status for status in told.split() if status != "VERIFYING"]
            assert told == ["CREATED", "PENDING", "VERIFIED"], told
        elif "redirect(page_url)" in text:
            told = self.node(TENANT + text)
            assert re.search(rf"led to {GATEWAY}/v/\w+", told), told
        else:
            told = self.node(TENANT + text)
            assert [json.loads(line) for line in told.splitlines()][-1] == {"adult": False}, told


def same_shape(shown: object, real: object, at: str = "") -> None:
    """The example has the members of the real answer, with the same types of values."""
    if isinstance(shown, dict) and isinstance(real, dict):
        left_out = set(real) - set(shown) - OF_OTHERS
        if left_out or set(shown) - set(real):
            raise AssertionError(f"{at}: shown and not answered {set(shown) - set(real)}, answered and not shown {left_out}")
        for name in shown:
            same_shape(shown[name], real[name], f"{at}.{name}")
    elif isinstance(shown, list) and isinstance(real, list):
        for one in shown if real else []:
            same_shape(one, real[0], f"{at}[]")
    elif shown is not None and real is not None and type(shown) is not type(real):
        raise AssertionError(f"{at}: {shown!r} is shown, and {real!r} is answered")
