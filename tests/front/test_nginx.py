"""A real nginx with examples/deploy/nginx.conf in front of a real idgate."""

import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("IDGATE_BIN", str(ROOT / "target" / "release" / "idgate"))
EXAMPLE = ROOT / "examples" / "deploy" / "nginx.conf"
START_TIMEOUT_SECONDS = 30
# Around the 5 s after which nginx lets go of a connection, and the 10 s after which idgate closes it.
GAPS_SECONDS = [4.9, 5.0, 5.1, 9.8, 9.9, 9.95, 10.0, 10.05, 10.1, 10.2]
CONNECTIONS_PER_GAP = 8


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def wait_for(port):
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


class NginxTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="idgate-nginx-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.upstream, self.port = free_port(), free_port()
        self.idgate = self.start_idgate()
        self.start_nginx()

    def start_idgate(self):
        environment = {
            "PATH": os.environ["PATH"],
            "IDGATE_DATA_DIR": str(self.folder / "data"),
            "IDGATE_LISTEN": f"127.0.0.1:{self.upstream}",
            "IDGATE_BASE_URL": "https://gateway.example",
            "IDGATE_BEHIND_TLS_PROXY": "true",
            "IDGATE_TRUSTED_PROXIES": "127.0.0.1",
        }
        made = subprocess.run(
            [BINARY, "client", "create", "shop", "--json"],
            env=environment, check=True, stdout=subprocess.PIPE, timeout=60,
        )
        self.api_key = json.loads(made.stdout)["api_key"]
        log = (self.folder / "idgate.log").open("wb")
        self.addCleanup(log.close)
        process = subprocess.Popen(
            [BINARY, "serve"], env=environment, stdout=subprocess.DEVNULL, stderr=log
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        wait_for(self.upstream)
        return process

    def start_nginx(self):
        certificate, key = self.folder / "cert.pem", self.folder / "key.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-nodes", "-subj", "/CN=gateway.example", "-keyout", key, "-out", certificate],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60,
        )
        server = EXAMPLE.read_text(encoding="utf-8")
        for old, new in [
            ("127.0.0.1:8080", f"127.0.0.1:{self.upstream}"),
            ("listen 443 ssl", f"listen 127.0.0.1:{self.port} ssl"),
            ("/etc/ssl/gateway.example.pem", str(certificate)),
            ("/etc/ssl/gateway.example.key", str(key)),
            ("/var/log/nginx/idgate.log", str(self.folder / "access.log")),
        ]:
            self.assertIn(old, server)
            server = server.replace(old, new)
        folders = "".join(
            f"{name}_temp_path {self.folder / name};\n"
            for name in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        )
        conf = self.folder / "nginx.conf"
        conf.write_text(
            f"daemon off;\npid {self.folder / 'nginx.pid'};\n"
            f"error_log {self.folder / 'error.log'} info;\n"
            f"events {{ worker_connections 512; }}\nhttp {{\n{folders}{server}}}\n",
            encoding="utf-8",
        )
        process = subprocess.Popen(
            ["nginx", "-p", self.folder, "-c", conf], stderr=subprocess.DEVNULL
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        wait_for(self.port)

    def connect(self):
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=30, context=context)

    def status(self, connection, method="GET", target="/healthz", body=None, **headers):
        connection.request(method, target, body, {"Host": "gateway.example", **headers})
        answer = connection.getresponse()
        answer.read()
        return answer.status

    def test_a_connection_that_was_silent_does_not_make_a_502(self):
        statuses = []

        def ask_twice(gap):
            connection = self.connect()
            statuses.append(self.status(connection))
            time.sleep(gap)
            statuses.append(self.status(connection))
            connection.close()

        threads = [
            threading.Thread(target=ask_twice, args=(gap,))
            for gap in GAPS_SECONDS
            for _ in range(CONNECTIONS_PER_GAP)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        expected = [200] * (2 * CONNECTIONS_PER_GAP * len(GAPS_SECONDS))
        self.assertEqual(statuses, expected, (self.folder / "error.log").read_text())

    def test_nginx_lets_go_before_idgate_closes(self):
        kept = re.search(r"keepalive_timeout (\d+)s;", EXAMPLE.read_text(encoding="utf-8"))
        limits = (ROOT / "idgate-server/src/limits.rs").read_text(encoding="utf-8")
        closed = re.search(r"header_timeout: Duration::from_secs\((\d+)\)", limits)
        self.assertLess(int(kept[1]), int(closed[1]))

    def test_a_stop_is_not_seen_while_the_drain_delay_lasts(self):
        statuses = []
        stopped = threading.Event()

        def keep_asking():
            connection = self.connect()
            while not stopped.is_set():
                statuses.append(self.status(connection))
            connection.close()

        threads = [threading.Thread(target=keep_asking) for _ in range(8)]
        for thread in threads:
            thread.start()
        time.sleep(0.5)
        self.idgate.send_signal(signal.SIGTERM)
        # The delay is 5 s behind a proxy.
        time.sleep(4)
        stopped.set()
        for thread in threads:
            thread.join()
        self.assertEqual(set(statuses), {200})
        self.assertEqual(self.idgate.wait(30), 0)

    def test_a_refusal_for_size_comes_through(self):
        headers = {
            "Content-Type": "application/json",
            "Authorization": f"Bearer {self.api_key}",
        }
        body = b" " * (3 << 19)
        connection = self.connect()
        self.addCleanup(connection.close)
        self.assertEqual(self.status(connection, "POST", "/v1/sessions", body, **headers), 400)


if __name__ == "__main__":
    unittest.main()
