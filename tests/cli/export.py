#!/usr/bin/env python3
"""`cordon export`: what each target is given, and what is refused by name.
What crun and runc make of a bundle is in conformance/oci_test.py."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

CORDON = os.environ["CORDON_BIN"]
ROOT = pathlib.Path(os.environ["CORDON_SOURCE_DIR"])

try:
    import jsonschema
except ImportError:
    if os.environ.get("CORDON_TESTS_MUST_RUN"):
        sys.exit("python3-jsonschema is missing")
    print("skipped: python3-jsonschema is missing")
    sys.exit(77)


class Export(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory(prefix="cordon-export-")
        self.addCleanup(made.cleanup)
        self.home = pathlib.Path(made.name).resolve()
        os.chmod(self.home, 0o755)
        self.ws = self.home / "ws"
        (self.ws / ".git/hooks").mkdir(parents=True)
        (self.ws / ".env").write_text("TOKEN=1")
        (self.ws / "keys").mkdir()

    def run_cordon(self, *words, **env):
        return subprocess.run([CORDON, "export", *words], cwd=self.ws, capture_output=True,
                              text=True, env=dict(os.environ, HOME=str(self.home), **env))

    def made(self, *words, **env):
        done = self.run_cordon(*words, **env)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def refused(self, word, *words):
        done = self.run_cordon(*words)
        self.assertEqual(done.returncode, 125, done.stdout + done.stderr)
        self.assertIn(word, done.stderr)

    # --- k8s -----------------------------------------------------------------

    def kubernetes(self, *words, **env):
        text = self.made("k8s", "--image", "example.test/img:1", *words, "--", "make", "test", **env)
        objects = json.loads(text)
        schema = json.loads((ROOT / "tests/data/kubernetes/schema.json").read_text())
        jsonschema.validate(objects, schema)
        return {item["kind"]: item for item in objects["items"]}, text

    def test_the_schema_can_say_no(self):
        schema = json.loads((ROOT / "tests/data/kubernetes/schema.json").read_text())
        objects, _ = self.kubernetes("--preset", "strict")
        objects["Job"]["spec"]["template"]["spec"]["containers"][0]["volumeMount"] = []
        with self.assertRaises(jsonschema.ValidationError):
            jsonschema.validate({"apiVersion": "v1", "kind": "List",
                                 "items": list(objects.values())}, schema)

    def test_a_job_is_locked_down(self):
        objects, _ = self.kubernetes("--preset", "strict", "--memory", "1GiB", "--timeout", "90s")
        pod = objects["Job"]["spec"]["template"]["spec"]
        self.assertTrue(pod["securityContext"]["runAsNonRoot"])
        self.assertNotEqual(pod["securityContext"]["runAsUser"], 0)
        self.assertFalse(pod["automountServiceAccountToken"])
        inside = pod["containers"][0]["securityContext"]
        self.assertEqual(inside["capabilities"], {"drop": ["ALL"]})
        self.assertTrue(inside["readOnlyRootFilesystem"])
        self.assertFalse(inside["allowPrivilegeEscalation"])
        self.assertEqual(pod["containers"][0]["resources"]["limits"]["memory"], str(2**30))
        self.assertEqual(objects["Job"]["spec"]["activeDeadlineSeconds"], 90)
        self.assertEqual(objects["NetworkPolicy"]["spec"]["egress"], [])
        self.assertEqual(objects["NetworkPolicy"]["spec"]["ingress"], [])

    def test_the_workspace_keeps_its_inner_boundaries(self):
        objects, _ = self.kubernetes("--preset", "strict", "--claim", "code", "--deny-read", ".env",
                                     "--deny-read", "keys")
        mounts = {mount["mountPath"]: mount for mount in
                  objects["Job"]["spec"]["template"]["spec"]["containers"][0]["volumeMounts"]}
        self.assertTrue(mounts[f"{self.ws}/.git/hooks"]["readOnly"])
        self.assertNotIn("readOnly", mounts[f"{self.ws}/.git"])  # so that it cannot be renamed
        self.assertNotIn("readOnly", mounts[str(self.ws)])
        self.assertEqual(mounts[f"{self.ws}/.env"]["name"], "no-file")
        self.assertEqual(mounts[f"{self.ws}/keys"]["name"], "nothing")
        order = list(mounts)
        self.assertLess(order.index("/tmp"), order.index(str(self.ws)))
        self.assertLess(order.index(f"{self.ws}/.git"), order.index(f"{self.ws}/.git/hooks"))

    def test_egress_by_name_goes_to_the_proxy_and_nowhere_else(self):
        self.refused("--proxy", "k8s", "--image", "i", "--preset", "workspace", "--", "true")
        objects, text = self.kubernetes("--preset", "workspace", "--proxy", "192.0.2.7")
        egress = objects["NetworkPolicy"]["spec"]["egress"]
        self.assertEqual(len(egress), 1)
        self.assertEqual(egress[0]["ports"], [{"protocol": "TCP", "port": 3128}])
        self.assertNotIn("http://127.0.0.1", text)
        pod = objects["Job"]["spec"]["template"]["spec"]
        self.assertEqual(pod["hostAliases"], [{"ip": "192.0.2.7", "hostnames": ["cordon-proxy"]}])
        self.assertEqual(pod["dnsPolicy"], "None")
        objects, _ = self.kubernetes("--preset", "strict", "--net", "open")
        self.assertNotIn("NetworkPolicy", objects)

    def test_a_secret_is_the_clusters(self):
        objects, text = self.kubernetes("--preset", "strict", "--env", "TOKEN", "--env", "CI=true",
                                        TOKEN="hunter2")
        self.assertNotIn("hunter2", text)
        env = {item["name"]: item for item in
               objects["Job"]["spec"]["template"]["spec"]["containers"][0]["env"]}
        self.assertEqual(env["CI"]["value"], "true")
        self.assertEqual(env["TOKEN"]["valueFrom"]["secretKeyRef"]["name"], "cordon-env")

    def test_odd_names(self):
        odd = {"A.B": "1", "C D": "2", "E%%": "3"}
        objects, _ = self.kubernetes("--preset", "rwx", **odd)
        env = [item["name"] for item in
               objects["Job"]["spec"]["template"]["spec"]["containers"][0]["env"]]
        self.assertIn("A.B", env)
        self.assertNotIn("C D", env)
        script = self.made("seatbelt", "--preset", "rwx", "--", "true", **odd)
        self.assertEqual(subprocess.run(["sh", "-n"], input=script, text=True).returncode, 0)
        self.assertNotIn("A.B", script)
        self.refused("--name", "k8s", "--image", "i", "--name", "Bad_Name", "--preset", "strict",
                     "--", "true")

    def test_what_a_cluster_cannot_carry_is_refused(self):
        start = ("k8s", "--image", "i", "--preset", "strict")
        self.refused("limits.processes", *start, "--processes", "9", "--", "true")
        self.refused("net.publish", *start, "--publish", "3000", "--", "true")
        self.made(*start, "--processes", "9", "--on-unavailable", "warn", "--", "true")

    # --- oci -----------------------------------------------------------------

    def bundle(self, *words, **env):
        directory = self.home / f"bundle{len(list(self.home.iterdir()))}"
        self.made("oci", str(directory), *words, "--", "true", **env)
        return directory, json.loads((directory / "config.json").read_text())

    def test_a_bundle_has_no_capability_and_no_secret(self):
        directory, config = self.bundle("--preset", "strict", "--env", "TOKEN", TOKEN="hunter2")
        self.assertTrue(config["process"]["noNewPrivileges"])
        self.assertEqual(set(map(tuple, config["process"]["capabilities"].values())), {()})
        self.assertNotEqual(config["process"]["user"]["uid"], 0)
        self.assertTrue(config["root"]["readonly"])
        kinds = {space["type"] for space in config["linux"]["namespaces"]}
        self.assertLessEqual({"pid", "mount", "ipc", "uts", "network"}, kinds)
        self.assertEqual("user" in kinds, os.geteuid() != 0)
        self.assertNotIn("hunter2", (directory / "config.json").read_text())

    def test_every_mount_of_the_host_is_recursive_or_a_file(self):
        _, config = self.bundle("--preset", "workspace", "--net", "none")
        for mount in config["mounts"]:
            if mount["type"] != "bind" or not os.path.isdir(mount["source"]):
                continue
            writable = mount["destination"].startswith(str(self.ws))
            if not writable and "/masks/" not in mount["source"]:
                self.assertIn("rro", mount["options"], mount)

    def test_limits_are_in_the_bundle(self):
        _, config = self.bundle("--preset", "strict", "--memory", "512MiB", "--processes", "64")
        self.assertEqual(config["linux"]["resources"]["memory"]["limit"], 2**29)
        self.assertEqual(config["linux"]["resources"]["pids"]["limit"], 64)

    def test_what_a_bundle_cannot_carry_is_refused(self):
        new = str(self.home / "new")
        for word, flags in {"net.mode": ["--preset", "workspace"],
                            "net.publish": ["--preset", "strict", "--publish", "3000"],
                            "limits.wall": ["--preset", "strict", "--timeout", "5s"],
                            "fs.floor": ["--preset", "strict", "--require", "fs.floor"]}.items():
            self.refused(word, "oci", new, *flags, "--", "true")
            self.assertFalse(os.path.exists(new), "refused, and yet written")
        policy = self.home / "new.toml"
        policy.write_text('version = 1\npreset = "strict"\n[fs]\ndeny_new = ["*.lock"]\n')
        self.refused("fs.deny_new", "oci", new, "--policy", str(policy), "--", "true")

    def test_nothing_is_overwritten(self):
        self.refused("mkdir", "oci", str(self.ws), "--preset", "strict", "--", "true")

    def test_a_command_may_do_without_its_dashes(self):
        with_dashes = self.made("seatbelt", "--preset", "strict", "--", "make", "-j2")
        self.assertEqual(self.made("seatbelt", "--preset", "strict", "make", "-j2"), with_dashes)

    def test_a_target_is_needed(self):
        for words in ([], ["docker"]):
            self.assertEqual(self.run_cordon(*words).returncode, 2)


if __name__ == "__main__":
    unittest.main()
