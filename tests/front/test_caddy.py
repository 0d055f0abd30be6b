"""A real Caddy with examples/deploy/Caddyfile in front of a real idgate."""

import os
import shutil
import subprocess
import unittest

from front import DEPLOY, Front

EXAMPLE = DEPLOY / "Caddyfile"


@unittest.skipUnless(shutil.which("caddy"), "Caddy is not installed")
class CaddyTest(Front, unittest.TestCase):
    def start_proxy(self):
        server = EXAMPLE.read_text(encoding="utf-8")
        for old, new in [
            # reason: the address of the example, which is replaced
            ("127.0.0.1:8080", f"127.0.0.1:{self.upstream}"),
            ("gateway.example {", f"gateway.example {{\n\tbind 127.0.0.1\n\ttls {self.certificate} {self.key}"),
            ("/var/log/caddy/idgate.log", str(self.folder / "access.log")),
        ]:
            self.assertIn(old, server)
            server = server.replace(old, new)
        file = self.folder / "Caddyfile"
        own = f"admin off\n\tauto_https disable_redirects\n\thttps_port {self.port}"
        file.write_text(f"{{\n\t{own}\n}}\n{server}", encoding="utf-8")
        log = (self.folder / "caddy.log").open("wb")
        self.addCleanup(log.close)
        self.start(
            ["caddy", "run", "--config", file, "--adapter", "caddyfile"],
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder)}, stdout=log, stderr=subprocess.STDOUT,
        )

    def errors(self):
        return (self.folder / "caddy.log").read_text()

    def test_caddy_accepts_the_example_and_its_format(self):
        formatted = subprocess.run(["caddy", "fmt", EXAMPLE], check=True, stdout=subprocess.PIPE).stdout
        self.assertEqual(formatted.decode(), EXAMPLE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
