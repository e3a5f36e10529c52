"""Reads `cargo metadata`, prints what the program is linked with as CycloneDX 1.5 (JSON)."""

import json
import os
import sys
import time

metadata = json.load(sys.stdin)
packages = {package["id"]: package for package in metadata["packages"]}
nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
program = next(it["id"] for it in packages.values() if it["name"] == "ackwise")


def normal(node):
    """What it is linked with: not what only builds or tests it."""
    return [it["pkg"] for it in node["deps"] if any(kind["kind"] is None for kind in it["dep_kinds"])]


def component(package, kind):
    name, version = package["name"], package["version"]
    reference = f"pkg:cargo/{name}@{version}"
    licence = {"licenses": [{"expression": package["license"].replace("/", " OR ")}]} if package["license"] else {}
    return {"type": kind, "bom-ref": reference, "name": name, "version": version, "purl": reference, **licence}


linked, waiting = set(), [program]
while waiting:
    one = waiting.pop()
    if one not in linked:
        linked.add(one)
        waiting += normal(nodes[one])

refer = lambda one: f"pkg:cargo/{packages[one]['name']}@{packages[one]['version']}"
when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"])))
json.dump(
    {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"timestamp": when, "component": component(packages[program], "application")},
        "components": [component(packages[it], "library") for it in sorted(linked - {program})],
        "dependencies": [
            {"ref": refer(it), "dependsOn": sorted(map(refer, normal(nodes[it])))} for it in sorted(linked)
        ],
    },
    sys.stdout,
    indent=1,
)
