"""A real nginx with examples/deploy/nginx.conf in front of a real idgate."""

import re
import subprocess
import unittest

from front import DEPLOY, ROOT, Front

EXAMPLE = DEPLOY / "nginx.conf"


class NginxTest(Front, unittest.TestCase):
    def start_proxy(self):
        server = EXAMPLE.read_text(encoding="utf-8")
        for old, new in [
            # reason: the address of the example, which is replaced
            ("127.0.0.1:8080", f"127.0.0.1:{self.upstream}"),
            ("listen 443 ssl", f"listen 127.0.0.1:{self.port} ssl"),
            ("/etc/ssl/gateway.example.pem", str(self.certificate)),
            ("/etc/ssl/gateway.example.key", str(self.key)),
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
        self.start(["nginx", "-p", self.folder, "-c", conf], stderr=subprocess.DEVNULL)

    def errors(self):
        return (self.folder / "error.log").read_text()

    def test_nginx_closes_idle_connections_before_idgate(self):
        kept = re.search(r"keepalive_timeout (\d+)s;", EXAMPLE.read_text(encoding="utf-8"))
        limits = (ROOT / "idgate-server/src/limits.rs").read_text(encoding="utf-8")
        closed = re.search(r"header_timeout: Duration::from_secs\((\d+)\)", limits)
        self.assertLess(int(kept[1]), int(closed[1]))


if __name__ == "__main__":
    unittest.main()
