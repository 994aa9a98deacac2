#!/usr/bin/env python3
"""check.py FOLDER: checks the files of the folder deploy, which nothing here can run.

The files for Kubernetes have to fit the types of its API, of the package kubernetes-types of npm, which is
installed into FOLDER if it is not there. Each option, path and port has to be one of the server, and each
name has to be the name of something. A fault that is planted into each kind of thing has to be found.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

try:
    import yaml
except ImportError:
    print("skipped: python3-yaml is not installed")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[3]
DEPLOY = ROOT / "deploy"
PROGRAM = os.environ.get("ELAPSE_PROGRAM", "elapse")
TYPES = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else ROOT / "build" / "types"
PACKAGES = ("kubernetes-types@1.30.0", "typescript@5")
IMAGE_PORTS = {"resp": 11300, "http": 8080}
PROBES = {"startupProbe": "/readyz", "livenessProbe": "/livez", "readinessProbe": "/readyz"}
USER = 10001


def documents(name):
    return list(yaml.safe_load_all((DEPLOY / "kubernetes" / name).read_text(encoding="utf-8")))


def pod_of(resource):
    return resource["spec"]["template"]["spec"]


def options_of(*command):
    """The options that a command of the program has."""
    help_text = subprocess.run([PROGRAM, *command, "--help"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"--[a-z][a-z-]+", help_text))


def certificate_is_for(name, host):
    """Whether OpenSSL accepts a certificate for `name` from a server that was reached as `host`."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-keyout", "key", "-out", "certificate", "-days", "1", "-subj", "/CN=node",
                        "-addext", f"subjectAltName=DNS:{name}"], cwd=folder, capture_output=True, check=True)
        said = subprocess.run(["openssl", "x509", "-in", "certificate", "-noout", "-checkhost", host], cwd=folder,
                              capture_output=True, text=True, check=False).stdout
    return "does match certificate" in said


def faults_of_server(resources):
    """What is wrong in a file, beyond types: a list of lines."""
    faults = []
    sets = [one for one in resources if one["kind"] == "StatefulSet"]
    services = {one["metadata"]["name"]: one for one in resources if one["kind"] == "Service"}
    [workload] = sets
    labels = workload["spec"]["template"]["metadata"]["labels"]
    pod = pod_of(workload)
    [container] = pod["containers"]
    if workload["spec"]["selector"]["matchLabels"] != labels:
        faults.append("the set selects other pods")
    if workload["spec"]["serviceName"] not in services:
        faults.append("the set names a service that is not there")
    faults += [f"the service {name} selects other pods" for name, one in services.items()
               if one["spec"]["selector"] != labels]
    faults += [f"{one['metadata']['name']} is for other pods" for one in resources
               if one["kind"] == "PodDisruptionBudget" and one["spec"]["selector"]["matchLabels"] != labels]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    if ports != IMAGE_PORTS:
        faults.append(f"the ports are {ports}")
    faults += [f"the service {name} has the port {port}" for name, one in services.items()
               for port in one["spec"]["ports"] if IMAGE_PORTS.get(port["targetPort"]) != port["port"]]
    for kind, path in PROBES.items():
        if container[kind]["httpGet"] != {"path": path, "port": "http"}:
            faults.append(f"{kind} asks for {container[kind]['httpGet']}")
    # A name without a registry is that of a public one, where anybody may have it.
    if not re.fullmatch(r"registry\.example/elapse:\d+\.\d+\.\d+", container["image"]):
        faults.append(f"the image is {container['image']}")
    if container["imagePullPolicy"] != "IfNotPresent":
        faults.append(f"the image is pulled {container['imagePullPolicy']}")
    return faults + faults_of_options(container["args"]) + faults_of_volumes(workload, pod, container)


def faults_of_options(words):
    if words[0] != "serve":
        return [f"the command is {words[0]}"]
    known = options_of("serve")
    return [f"there is no option {word}" for word in words[1:] if word.split("=")[0] not in known]


def faults_of_volumes(workload, pod, container):
    faults = []
    claims = {claim["metadata"]["name"] for claim in workload["spec"]["volumeClaimTemplates"]}
    volumes = claims | {volume["name"] for volume in pod["volumes"]}
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    if set(mounts) != volumes:
        faults.append(f"the volumes are {volumes}, and the mounts {set(mounts)}")
    for word in container["args"]:
        path = word.partition("=")[2]
        if path.startswith("/") and not any(path.startswith(mount + "/") for mount in mounts.values()):
            faults.append(f"{word} is in no volume")
    secure = pod["securityContext"]
    if not (secure["runAsNonRoot"] and secure["runAsUser"] == secure["fsGroup"] == USER):
        faults.append("the user is not that of the image")
    # The server refuses secrets that everybody can read, and its group is that of the files.
    faults += [f"{volume['name']} has a mode that the server refuses" for volume in pod["volumes"]
               if volume["secret"]["defaultMode"] != 0o440]
    if not container["securityContext"]["readOnlyRootFilesystem"]:
        faults.append("the root can be written to")
    return faults


class Kubernetes(unittest.TestCase):
    def test_what_is_said_of_the_server(self):
        for name in ("server.yaml", "cluster.yaml"):
            with self.subTest(name=name):
                self.assertEqual(faults_of_server(documents(name)), [])

    def test_faults_are_found(self):
        def change(path, value):
            resources = documents("cluster.yaml")
            [workload] = [one for one in resources if one["kind"] == "StatefulSet"]
            at = workload
            for step in path[:-1]:
                at = at[step]
            at[path[-1]] = value
            return faults_of_server(resources)

        pod = ("spec", "template", "spec")
        container = (*pod, "containers", 0)
        for path, value in ((("spec", "serviceName"), "other"), ((*container, "image"), "elapse:0.3.0"),
                            ((*container, "imagePullPolicy"), "Always"), ((*container, "args", 1), "--nothing=1"),
                            ((*container, "args", 3), "--data=/srv/jobs"), ((*container, "ports", 0, "containerPort"), 1),
                            ((*container, "livenessProbe", "httpGet", "path"), "/livz"),
                            ((*container, "volumeMounts", 0, "name"), "other"),
                            ((*pod, "securityContext", "runAsUser"), 0),
                            ((*pod, "volumes", 0, "secret", "defaultMode"), 0o444),
                            ((*container, "securityContext", "readOnlyRootFilesystem"), False),
                            (("spec", "selector", "matchLabels", "app"), "other")):
            with self.subTest(path=path):
                self.assertNotEqual(change(path, value), [])

    def test_nodes_find_each_other_before_they_are_ready(self):
        resources = documents("cluster.yaml")
        [workload] = [one for one in resources if one["kind"] == "StatefulSet"]
        [nodes] = [one for one in resources if one["metadata"]["name"] == workload["spec"]["serviceName"]]
        self.assertEqual(nodes["spec"]["clusterIP"], "None")
        self.assertIs(nodes["spec"]["publishNotReadyAddresses"], True)
        self.assertEqual(workload["spec"]["podManagementPolicy"], "Parallel")
        [container] = pod_of(workload)["containers"]
        self.assertIn(f"--advertise=tls:$(POD_NAME).{nodes['metadata']['name']}.$(NAMESPACE).svc:11300", container["args"])
        names = {one["name"] for one in container["env"]}
        for word in container["args"]:
            self.assertLessEqual(set(re.findall(r"\$\((\w+)\)", word)), names)

    @unittest.skipIf(shutil.which("openssl") is None, "openssl is not installed")
    def test_the_certificate_is_for_the_nodes(self):
        text = (DEPLOY / "kubernetes/cluster.yaml").read_text(encoding="utf-8")
        [name] = re.findall(r"The certificate in elapse-tls is for (\S+),", text)
        [advertised] = re.findall(r"--advertise=tls:(\S+):11300", text)
        host = advertised.replace("$(POD_NAME)", "elapse-0").replace("$(NAMESPACE)", "shop")
        self.assertTrue(certificate_is_for(name.replace("NAMESPACE", "shop"), host))
        # One dot behind the star is too few.
        self.assertFalse(certificate_is_for("*.elapse-nodes", "elapse-0.elapse-nodes"))

    def test_the_hook_before_the_end(self):
        [workload] = [one for one in documents("cluster.yaml") if one["kind"] == "StatefulSet"]
        pod = pod_of(workload)
        [container] = pod["containers"]
        command = container["lifecycle"]["preStop"]["exec"]["command"]
        self.assertGreaterEqual(pod["terminationGracePeriodSeconds"], int(command[2]) + 20)
        script = command[-1]
        self.assertEqual(subprocess.run(["sh", "-n", "-c", script], check=False).returncode, 0)
        [words] = re.findall(r'elapse cluster may-stop "\$(\w+)" --cluster "\$(\w+)"', script)
        self.assertLessEqual(set(words), {one["name"] for one in container["env"]})
        self.assertIn("--cluster", options_of("cluster", "may-stop"))


@unittest.skipIf(shutil.which("npm") is None, "npm is not installed")
class Types(unittest.TestCase):
    KINDS = {"Service": "core/v1", "StatefulSet": "apps/v1", "PodDisruptionBudget": "policy/v1"}

    @classmethod
    def setUpClass(cls):
        if not (TYPES / "node_modules/typescript/bin/tsc").exists():
            TYPES.mkdir(parents=True, exist_ok=True)
            got = subprocess.run(["npm", "install", "--no-save", "--no-audit", "--no-fund", "--prefix", TYPES, *PACKAGES],
                                 capture_output=True, text=True, check=False)
            if got.returncode != 0:
                raise unittest.SkipTest(f"npm has not installed the types: {got.stderr.strip()[-200:]}")

    def compile(self, resources):
        """Returns what the compiler says of these resources."""
        lines = []
        for number, one in enumerate(resources):
            module = self.KINDS[one["kind"]]
            self.assertEqual(one["apiVersion"], module.removeprefix("core/"))
            lines.append(f"import type {{ {one['kind']} as Kind{number} }} from 'kubernetes-types/{module}';")
            lines.append(f"export const one{number}: Kind{number} = {json.dumps(one)};")
        (TYPES / "checked.ts").write_text("\n".join(lines) + "\n", encoding="utf-8")
        done = subprocess.run([TYPES / "node_modules/typescript/bin/tsc", "--noEmit", "--strict", "--skipLibCheck",
                               "--moduleResolution", "node10", "--module", "esnext", "checked.ts"], cwd=TYPES,
                              capture_output=True, text=True, check=False)
        return done.stdout

    def test_the_files_fit(self):
        for name in ("server.yaml", "cluster.yaml"):
            with self.subTest(name=name):
                self.assertEqual(self.compile(documents(name)), "")

    def test_faults_are_found(self):
        for word, other in (("podManagementPolicy: Parallel", "podManagmentPolicy: Parallel"),
                            ("failureThreshold: 6", "failureThreshold: many"),
                            ("maxUnavailable: 1", "maxUnavailble: 1"),
                            ("publishNotReadyAddresses: true", "publishNotReadyAddresses: 5")):
            with self.subTest(word=word):
                text = (DEPLOY / "kubernetes/cluster.yaml").read_text(encoding="utf-8")
                self.assertIn(word, text)
                self.assertIn("error TS", self.compile(list(yaml.safe_load_all(text.replace(word, other)))))


class Compose(unittest.TestCase):
    def setUp(self):
        self.compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))

    def test_options_and_paths(self):
        services = self.compose["services"]
        self.assertEqual(faults_of_options(services["elapse"]["command"]), [])
        words = services["queue"]["command"]
        self.assertEqual(words[:2], ["cluster", "create"])
        self.assertLessEqual({word.split("=")[0] for word in words[2:]}, options_of("cluster", "create"))
        for name, service in services.items():
            self.assertLessEqual(set(service.get("depends_on", {})), set(services), name)
            for mount in service.get("volumes", ()):
                source = mount.split(":")[0]
                if not source.startswith("."):
                    self.assertIn(source, self.compose["volumes"])
                elif source != "./passwords":  # the reader makes it
                    self.assertTrue((DEPLOY / source).exists(), mount)
            for port in service.get("ports", ()):
                self.assertTrue(port.startswith("127.0.0.1:"), f"{name} is open to everybody")

    def test_images(self):
        services = self.compose["services"]
        for name, service in services.items():
            self.assertRegex(service["image"], r":v?\d+(\.\d+)*$", name)
            if service["image"].startswith("elapse:"):
                self.assertEqual(service["pull_policy"], "never", name)
        self.assertEqual(services["elapse"]["restart"], "unless-stopped")

    def test_prometheus(self):
        settings = yaml.safe_load((DEPLOY / "prometheus.yml").read_text(encoding="utf-8"))
        for path in settings["rule_files"]:
            self.assertTrue((ROOT / "examples/prometheus" / pathlib.Path(path).name).exists(), path)
        [scrape] = settings["scrape_configs"]
        self.assertEqual(scrape["static_configs"], [{"targets": ["elapse:8080"]}])
        self.assertEqual(scrape["job_name"], "elapse")

    @unittest.skipIf(shutil.which("promtool") is None, "promtool is not installed")
    def test_promtool(self):
        checked = subprocess.run(["promtool", "check", "config", "--syntax-only", DEPLOY / "prometheus.yml"],
                                 capture_output=True, text=True, check=False)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)


class Image(unittest.TestCase):
    def test_the_archive_has_a_name(self):
        sys.path.insert(0, str(ROOT / "scripts"))
        import image  # pylint: disable=import-outside-toplevel

        with tempfile.TemporaryDirectory() as folder:
            image.OUT = pathlib.Path(folder)
            path = image.write_image(b"layer", image.digest(b"content"), "1.2.3", "amd64", 0)
            with tarfile.open(path) as archive:
                def read(name):
                    return archive.extractfile(name).read()

                [listed] = json.loads(read("manifest.json"))
                [entry] = json.loads(read("index.json"))["manifests"]
                self.assertEqual(listed["RepoTags"], ["elapse:1.2.3"])
                self.assertEqual(entry["annotations"]["io.containerd.image.name"], "docker.io/library/elapse:1.2.3")
                self.assertEqual([read(name) for name in listed["Layers"]], [b"layer"])
                self.assertEqual(json.loads(read(listed["Config"]))["rootfs"]["diff_ids"], [image.digest(b"content")])


if __name__ == "__main__":
    unittest.main()
