"""Tests of every proxy in examples/deploy/, in front of a real idgate."""

import base64
import concurrent.futures
import http.client
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "harness"))

from machine import Machine  # noqa: E402
from patience import PATIENCE, accepts, eventually, free_port  # noqa: E402

DEPLOY = ROOT / "examples" / "deploy"
BINARY = os.environ.get("IDGATE_BIN", str(ROOT / "target" / "release" / "idgate"))
# Around the 5 s after which a proxy closes an idle connection, and the 10 s after which idgate closes it.
GAPS_SECONDS = [4.9, 5.0, 5.1, 9.8, 9.9, 9.95, 10.0, 10.05, 10.1, 10.2]
CONNECTIONS_PER_GAP = 8
ASKING = 8
# The number of answers that each client receives after the stop.
ANSWERS_WHILE_STOPPING = 50
DRAIN_DELAY_SECONDS = 5
# A timer polls a WebSocket. A minute of polling takes less time than its first ping.
LOOK_SECONDS = 0.01
REQUEST = {
    "credentials": [
        {"id": "pid", "format": "vc+sd-jwt", "issuer_id": "https://issuer.example", "claims": ["given_name"]}
    ]
}
PROTOCOL = "svc-id-v1"


class Front:
    """The tests. The test case of a proxy starts it (`start_proxy`) and returns its log (`errors`)."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="idgate-front-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.upstream, self.port = free_port(), free_port()
        self.certificate, self.key = self.folder / "cert.pem", self.folder / "key.pem"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-subj", "/CN=gateway.example", "-addext", "subjectAltName=DNS:gateway.example",
                "-keyout", self.key, "-out", self.certificate)
        self.idgate = self.start_idgate()
        self.start_proxy()
        eventually("the proxy listens", lambda: accepts(self.port))

    def start_idgate(self):
        environment = {
            "PATH": os.environ["PATH"],
            "IDGATE_DATA_DIR": str(self.folder / "data"),
            "IDGATE_LISTEN": f"127.0.0.1:{self.upstream}",
            "IDGATE_BASE_URL": "https://gateway.example",
            "IDGATE_BEHIND_TLS_PROXY": "true",
            "IDGATE_TRUSTED_PROXIES": "127.0.0.1",
        }

        def command(*arguments):
            done = subprocess.run(
                [BINARY, *arguments, "--test", "--json"],
                env=environment, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                timeout=PATIENCE,
            )
            return json.loads(done.stdout)

        self.api_key = command("client", "create", "shop")["api_key"]
        openssl("pkey", "-in", self.key, "-pubout", "-out", self.folder / "issuer.pem")
        command("trust", "add", "https://issuer.example", "--public-key", str(self.folder / "issuer.pem"),
                "--vct", "urn:eudi:pid:1")
        self.machine = Machine()
        self.addCleanup(self.machine.remove)
        environment |= self.machine.environment
        log = (self.folder / "idgate.log").open("wb")
        self.addCleanup(log.close)
        # The test does not wait for the drain.
        end = subprocess.Popen.kill
        return self.start([BINARY, "serve"], end, env=environment, stdout=subprocess.DEVNULL, stderr=log)

    def start(self, command, end=subprocess.Popen.terminate, **options):
        process = subprocess.Popen(command, **options)
        self.addCleanup(process.wait)
        self.addCleanup(end, process)
        eventually("idgate listens", lambda: accepts(self.upstream))
        return process

    def context(self):
        return ssl.create_default_context(cafile=self.certificate)

    def connect(self):
        """A connection to the proxy under the gateway's name, which its certificate has. It reconnects as needed."""
        connection = http.client.HTTPSConnection("gateway.example", self.port)

        def connect():
            connection.sock = self.tls()

        connection.connect = connect
        return connection

    def tls(self):
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        stream = self.context().wrap_socket(plain, server_hostname="gateway.example")
        self.addCleanup(stream.close)
        return stream

    def status(self, connection, method="GET", target="/healthz", body=None, **headers):
        connection.request(method, target, body, {"Host": "gateway.example", **headers})
        answer = connection.getresponse()
        answer.read()
        return answer.status

    def session(self):
        connection = self.connect()
        headers = {"Authorization": f"Bearer {self.api_key}", "Content-Type": "application/json"}
        connection.request("POST", "/v1/sessions", json.dumps(REQUEST), {"Host": "gateway.example", **headers})
        answer = connection.getresponse()
        made = json.loads(answer.read())
        self.assertEqual(answer.status, 201, made)
        return made["session_id"]

    def until(self, stream, end, passes_seconds=0):
        """Reads a stream up to `end`. Moves the clock of idgate while there is nothing to read."""
        said = b""

        def speaks():
            self.machine.jump(passes_seconds)
            return stream.pending() or select.select([stream], [], [], 0)[0]

        while end not in said:
            eventually("the stream goes on", speaks)
            more = stream.recv(4096)
            self.assertNotEqual(more, b"", said)
            said += more
        return said

    def test_an_idle_connection_does_not_cause_a_502(self):
        statuses = []

        def ask_twice(gap):
            connection = self.connect()
            statuses.append(self.status(connection))
            # reason: proxies use the machine's clock; a longer gap changes no status
            time.sleep(gap)
            statuses.append(self.status(connection))

        gaps = CONNECTIONS_PER_GAP * GAPS_SECONDS
        with concurrent.futures.ThreadPoolExecutor(len(gaps)) as pool:
            list(pool.map(ask_twice, gaps))
        expected = [200] * (2 * CONNECTIONS_PER_GAP * len(GAPS_SECONDS))
        self.assertEqual(statuses, expected, self.errors())

    def test_clients_see_no_error_during_the_drain_delay(self):
        statuses = [[] for _ in range(ASKING)]
        stopped = threading.Event()

        def keep_asking(own):
            connection = self.connect()
            while not stopped.is_set():
                own.append(self.status(connection))

        def all_have(count):
            return all(len(own) >= count or one.done() for own, one in zip(statuses, asking, strict=True))

        with concurrent.futures.ThreadPoolExecutor(ASKING) as pool:
            try:
                asking = [pool.submit(keep_asking, own) for own in statuses]
                eventually("each has an answer", lambda: all_have(1))
                self.machine.freeze()
                self.idgate.send_signal(signal.SIGTERM)
                eventually("idgate knows that it is to stop", self.is_draining)
                # One second of the delay is left until the clock continues.
                self.machine.jump(DRAIN_DELAY_SECONDS - 1)
                enough = max(map(len, statuses)) + ANSWERS_WHILE_STOPPING
                eventually("each has more answers", lambda: all_have(enough))
            finally:
                stopped.set()
            for one in asking:
                one.result()
        self.assertEqual({status for own in statuses for status in own}, {200})
        self.machine.thaw()
        self.machine.jump(DRAIN_DELAY_SECONDS)
        self.assertEqual(self.idgate.wait(PATIENCE), 0)

    def is_draining(self):
        """Whether every answer is the last on its connection."""
        connection = http.client.HTTPConnection("127.0.0.1", self.upstream)
        try:
            connection.request("GET", "/healthz", headers={"Host": "gateway.example"})
            return connection.getresponse().getheader("Connection") == "close"
        finally:
            connection.close()

    def test_a_413_reaches_the_client(self):
        headers = {
            "Content-Type": "application/json",
            "Authorization": f"Bearer {self.api_key}",
        }
        body = b" " * (3 << 19)
        self.assertEqual(self.status(self.connect(), "POST", "/v1/sessions", body, **headers), 400)

    def test_events_arrive_immediately_and_a_drain_ends_the_stream(self):
        session = self.session()
        # While the clock is stopped, idgate sends nothing that would flush bytes from the proxy's buffer.
        with self.machine.frozen():
            stream = self.tls()
            stream.sendall(
                f"GET /v1/sessions/{session}/events HTTP/1.1\r\nHost: gateway.example\r\n"
                f"Accept: text/event-stream\r\nAuthorization: Bearer {self.api_key}\r\n\r\n".encode()
            )
            self.assertIn(b" 200 ", self.until(stream, b'"status":"CREATED"').split(b"\r\n")[0])
        self.idgate.send_signal(signal.SIGTERM)
        self.assertEqual(self.idgate.wait(PATIENCE), 0)
        # The last chunk.
        self.until(stream, b"0\r\n\r\n")

    def test_a_websocket_works_in_both_directions(self):
        session = self.session()
        with self.machine.frozen():
            stream = self.tls()
            stream.sendall(
                f"GET /v1/sessions/{session}/ws HTTP/1.1\r\nHost: gateway.example\r\n"
                "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\n"
                f"Sec-WebSocket-Protocol: {PROTOCOL}, {self.api_key}\r\n\r\n".encode()
            )
            head = self.until(stream, b'"status":"CREATED"', LOOK_SECONDS).split(b"\r\n")[0]
            self.assertIn(b" 101 ", head)
            # An empty ping with a mask of zeros, and its pong.
            stream.sendall(bytes([0x89, 0x80, 0, 0, 0, 0]))
            self.until(stream, bytes([0x8A, 0]))

    def test_no_query_and_no_key_is_logged(self):
        connection = self.connect()
        headers = {"Authorization": f"Bearer {self.api_key}"}
        self.assertEqual(self.status(connection, target="/v1/sessions/x?secret=planted", **headers), 404)
        self.assertEqual(self.status(connection, target="/metrics"), 401)
        eventually("the second request is logged", lambda: "/metrics" in self.access_log())
        self.assertIn("/v1/sessions/x", self.access_log())
        for secret in ["planted", self.api_key]:
            self.assertNotIn(secret, self.access_log())

    def access_log(self):
        path = self.folder / "access.log"
        return path.read_text() if path.exists() else ""


def openssl(*arguments):
    subprocess.run(
        ["openssl", *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=PATIENCE
    )
