"""The deployment files parse, name settings that exist, and pass the checks of installed tools."""

import configparser
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "examples" / "deploy"
#: The pages that an operator reads; benches and tests have variables of their own on others.
PAGES = ("operate.md", "configuration.md", "trust.md", "revocation.md", "keys.md", "certificates.md", "clients.md",
         "backup.md", "retention.md", "audit.md", "monitoring.md", "tracing.md", "overload.md", "verify.md")
VARIABLE = re.compile(r"\b((?:IDGATE|OID4VP)_[A-Z0-9_]+)\b")


def text(name):
    return (DEPLOY / name).read_text(encoding="utf-8")


def code(name):
    """The text without comments."""
    return "\n".join(line for line in text(name).splitlines() if not line.lstrip().startswith("#"))


class DeployTest(unittest.TestCase):
    def test_every_setting_named_exists(self):
        source = (ROOT / "idgate-server/src/config/settings.rs").read_text(encoding="utf-8")
        known = set(VARIABLE.findall(source))
        known |= {f"{name}_FILE" for name in known}
        files = [*DEPLOY.iterdir(), *(ROOT / "docs" / page for page in PAGES)]
        for file in files:
            for name in VARIABLE.findall(file.read_text(encoding="utf-8")):
                with self.subTest(file=file.name, name=name):
                    self.assertIn(name, known)

    def test_every_setting_is_documented(self):
        source = (ROOT / "idgate-server/src/config/settings.rs").read_text(encoding="utf-8")
        settings = re.findall(r'^    "([A-Z0-9_]+)" "[a-z0-9_]+"', source, re.MULTILINE)
        self.assertGreater(len(settings), 50)
        documented = "".join((ROOT / "docs" / page).read_text(encoding="utf-8") for page in ("configuration.md", "tracing.md"))
        for name in settings:
            with self.subTest(name=name):
                self.assertRegex(documented, rf"(?m)^\| (`\w+`, )?`{name}`")

    def test_every_file_is_described(self):
        described = (ROOT / "docs" / "operate.md").read_text(encoding="utf-8")
        for file in DEPLOY.iterdir():
            with self.subTest(file=file.name):
                self.assertIn(f"| `{file.name}` |", described)

    def test_the_page_explains_exactly_the_alerts(self):
        alerts = re.findall(r"- alert: (\w+)", text("alerts.yml"))
        monitoring = (ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8")
        explained = re.findall(r"^\| `(Idgate\w+)` \|", monitoring, re.MULTILINE)
        self.assertEqual(alerts, explained)

    def test_every_alert_has_a_summary_and_a_runbook(self):
        monitoring = (ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8")
        for block in text("alerts.yml").split("- alert: ")[1:]:
            name = block.split("\n", 1)[0]
            with self.subTest(alert=name):
                self.assertRegex(block, r'summary: "[A-Z].{10,}"')
                self.assertIn(f"runbook: docs/monitoring.md#{name.lower()}\n", block)
                self.assertIn(f'| `{name}` | <a id="{name.lower()}"></a>', monitoring)

    def test_the_dashboard_shows_existing_metrics(self):
        dashboard = json.loads(text("dashboard.json"))
        monitoring = (ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8")
        ids = [panel["id"] for panel in dashboard["panels"]]
        self.assertEqual(len(ids), len(set(ids)))
        places = [panel["gridPos"] for panel in dashboard["panels"]]
        for place in places:
            self.assertLessEqual(place["x"] + place["w"], 24)
        for panel in dashboard["panels"]:
            for target in panel["targets"]:
                with self.subTest(panel=panel["title"], expr=target["expr"]):
                    names = re.findall(r"\bidgate_\w+", target["expr"])
                    self.assertTrue(names)
                    for name in names:
                        self.assertIn(f"`{re.sub('_(bucket|sum|count)$', '', name)}", monitoring)

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not installed")
    def test_prometheus_accepts_the_expressions_of_the_dashboard(self):
        panels = json.loads(text("dashboard.json"))["panels"]
        targets = [target["expr"] for panel in panels for target in panel["targets"]]
        rules = [
            {"record": f"idgate:panel:{n}", "expr": expr.replace("$__rate_interval", "5m")}
            for n, expr in enumerate(targets)
        ]
        with tempfile.TemporaryDirectory() as folder:
            # promtool reads JSON, because it is YAML.
            file = pathlib.Path(folder, "rules.yml")
            file.write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
            command = ["promtool", "check", "rules", file]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not installed")
    def test_alerts_fire_on_the_right_series(self):
        command = ["promtool", "test", "rules", DEPLOY.parent.parent / "tests/check/alerts_test.yml"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not installed")
    def test_prometheus_accepts_the_rules(self):
        command = ["promtool", "check", "rules", DEPLOY / "alerts.yml"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_the_unit_has_the_required_settings(self):
        unit = configparser.RawConfigParser(strict=False)
        unit.optionxform = str
        unit.read_string(text("idgate.service"))
        self.assertEqual(unit.sections(), ["Unit", "Service", "Install"])
        self.assertTrue(unit["Service"]["ExecStart"].endswith(" serve"))
        self.assertGreater(int(unit["Service"]["TimeoutStopSec"]), 5 + 25)
        self.assertEqual(unit["Service"]["StateDirectoryMode"], "0700")
        self.assertEqual(unit["Service"]["Type"], "notify")
        self.assertEqual(unit["Service"]["Environment"], "MIMALLOC_PURGE_DELAY=0")

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
    def test_systemd_accepts_the_unit(self):
        with tempfile.TemporaryDirectory() as folder:
            unit = pathlib.Path(folder, "idgate.service")
            # This machine has neither the program nor its user.
            unit.write_text(
                text("idgate.service")
                .replace("/usr/local/bin/idgate", "/bin/true")
                .replace("User=idgate", "")
                .replace("Group=idgate", ""),
                encoding="utf-8",
            )
            done = subprocess.run(
                ["systemd-analyze", "verify", unit], stderr=subprocess.PIPE, text=True, timeout=60
            )
        about_it = [line for line in done.stderr.splitlines() if "idgate.service" in line]
        self.assertEqual((done.returncode, about_it), (0, []), done.stderr)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
    def test_the_unit_has_a_low_exposure_score(self):
        command = ["systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=20"]
        with tempfile.TemporaryDirectory() as folder:
            unit = pathlib.Path(folder, "idgate.service")
            unit.write_text(text("idgate.service").replace("/usr/local/bin/idgate", "/bin/true"))
            done = subprocess.run([*command, unit], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr)

    def test_the_container_runs_as_an_unprivileged_user(self):
        joined = code("Containerfile").replace("\\\n", " ")
        lines = [line.split(None, 1) for line in joined.splitlines() if line.strip()]
        words = [line[0] for line in lines]
        known = {"FROM", "WORKDIR", "COPY", "RUN", "USER", "ENV", "VOLUME", "EXPOSE", "STOPSIGNAL"}
        self.assertLessEqual(set(words), known | {"ENTRYPOINT", "CMD"})
        users = [rest for word, rest in lines if word == "USER"]
        self.assertEqual(users, ["65532:65532"])
        self.assertLess(words.index("USER"), words.index("ENTRYPOINT"))

    def test_gateways_have_enough_time_to_stop(self):
        compose, kubernetes = code("compose-postgres.yml"), code("kubernetes.yml")
        grace = re.search(r"stop_grace_period: (\d+)s", compose)
        self.assertGreater(int(grace[1]), 5 + 25)
        grace = re.search(r"terminationGracePeriodSeconds: (\d+)", kubernetes)
        drain = re.search(r'IDGATE_DRAIN_DELAY: "(\d+)"', kubernetes)
        self.assertGreater(int(grace[1]), int(drain[1]) + 25)

    # tests/deploy validates both files against the schemas of their kinds.
    def test_gateways_in_containers_read_key_and_address_from_files(self):
        for name in ["compose-postgres.yml", "kubernetes.yml"]:
            with self.subTest(name=name):
                self.assertNotRegex(code(name), r"IDGATE_(INSTANCE_KEY|DATABASE_URL):")
                self.assertRegex(code(name), r"IDGATE_INSTANCE_KEY_FILE: /run/secrets/")

    def test_the_proxy_configuration_is_balanced(self):
        lines = [line.strip() for line in code("nginx.conf").splitlines()]
        depth = 0
        for line in filter(None, lines):
            with self.subTest(line=line):
                self.assertTrue(line.endswith((";", "{", "}")))
            depth += line.count("{") - line.count("}")
            self.assertGreaterEqual(depth, 0)
        self.assertEqual(depth, 0)

    @unittest.skipUnless(shutil.which("nginx"), "nginx is not installed")
    def test_nginx_accepts_the_configuration(self):
        with tempfile.TemporaryDirectory() as folder:
            server = re.sub(r"\s*ssl_certificate(_key)? [^;]*;", "", text("nginx.conf"))
            server = server.replace("443 ssl", "8443").replace("/var/log/nginx", folder)
            conf = pathlib.Path(folder, "nginx.conf")
            conf.write_text(
                f"pid {folder}/pid; error_log {folder}/error;\nevents {{}}\nhttp {{\n{server}\n}}\n",
                encoding="utf-8",
            )
            done = subprocess.run(
                ["nginx", "-t", "-c", conf, "-p", folder],
                stderr=subprocess.PIPE, text=True, timeout=60,
            )
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
