"""Compares what lies in deploy/ with the real thing: the metrics of a server, and the schema of Kubernetes.

deploy_check.py PROGRAM PYTHON WORK
"""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import yaml

PROGRAM, PYTHON, WORK = sys.argv[1:]
DEPLOY = Path("deploy")
KUBERNETES = "1.33"
# What a histogram's family is written as.
PARTS = re.compile(r"_(bucket|sum|count)$")


def served() -> set[str]:
    """The names of all metrics that a server has."""
    place = f"{WORK}/socket"
    server = subprocess.Popen(
        [PROGRAM, "serve", "--listen", f"unix:{place}", "--python", PYTHON],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        key = next(
            word for line in server.stdout for word in line.split() if word.startswith("carboy_")
        )
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(place)
            request = (
                "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                f"Authorization: Bearer {key}\r\n\r\n"
            )
            client.sendall(request.encode())
            text = b"".join(iter(lambda: client.recv(65536), b"")).decode()
    finally:
        server.terminate()
        server.communicate()
    assert text.startswith("HTTP/1.1 200 "), text
    return set(re.findall(r"^# TYPE (\S+) ", text, re.M))


def named(text: str) -> set[str]:
    """The metrics of ours that a query names."""
    return {PARTS.sub("", name) for name in re.findall(r"\bcarboy_[a-z_]+\b", text)}


def metrics() -> None:
    """Every metric that the dashboard and the rules name is one that a server has."""
    there = served()
    dashboard = json.loads((DEPLOY / "grafana/carboy.json").read_text())
    shown = {target["expr"] for panel in dashboard["panels"] for target in panel["targets"]}
    rules = yaml.safe_load((DEPLOY / "prometheus/rules.yaml").read_text())
    judged = {rule["expr"] for group in rules["groups"] for rule in group["rules"]}
    used = named(" ".join(shown | judged))
    assert used <= there, f"nobody has {sorted(used - there)}"
    print(f"metrics: {len(used)} are used, and a server has each")


def manifests() -> None:
    """Every manifest is what the API takes, and each that is there is applied."""
    base = DEPLOY / "kubernetes/base"
    listed = yaml.safe_load((base / "kustomization.yaml").read_text())["resources"]
    there = {path.name for path in base.glob("*.yaml")} - {"kustomization.yaml"}
    assert there == set(listed), there ^ set(listed)
    checked = [base / name for name in listed] + [DEPLOY / "pod.yaml"]
    for path in checked:
        for document in yaml.safe_load_all(path.read_text()):
            kubernetes_validate.validate(document, KUBERNETES, strict=True)
    deployment = yaml.safe_load((base / "deployment.yaml").read_text())
    restricted(deployment["spec"]["template"]["spec"])
    # What the other layout replaces is there to be replaced.
    for change in yaml.safe_load((DEPLOY / "kubernetes/nested/seccomp.yaml").read_text()):
        place: Any = deployment
        for step in change["path"].strip("/").split("/"):
            place = place[int(step) if step.isdigit() else step]
    print(f"kubernetes: {len(checked)} manifests are what version {KUBERNETES} takes")


def restricted(spec: dict[str, Any]) -> None:
    """What the Pod Security Standard `restricted` asks for."""
    security = spec["securityContext"]
    assert security["runAsNonRoot"] and security["runAsUser"] > 0
    assert security["seccompProfile"] == {"type": "Localhost", "localhostProfile": "carboy.json"}
    for container in spec["initContainers"] + spec["containers"]:
        own = container["securityContext"]
        assert own["allowPrivilegeEscalation"] is False and own["capabilities"] == {
            "drop": ["ALL"]
        }, container
        assert own["readOnlyRootFilesystem"] is True
    kinds = {kind for volume in spec["volumes"] for kind in volume if kind != "name"}
    assert kinds <= {"emptyDir", "secret"}, kinds


metrics()
manifests()
