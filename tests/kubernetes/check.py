"""Checks a list of manifests (JSON on stdin) by the schemas of Kubernetes. Prints one line of JSON for each finding."""

import json
import sys

import kubernetes_validate

versions = sys.argv[1:]
for manifest in json.load(sys.stdin):
    name = manifest.get("kind", "?") + "/" + manifest.get("metadata", {}).get("name", "?")
    for version in versions:
        try:
            kubernetes_validate.validate(manifest, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            path = "/".join(str(part) for part in error.path)
            print(json.dumps({"version": version, "name": name, "problem": f"{path}: {error.message}"}))
        except kubernetes_validate.SchemaNotFoundError:
            print(json.dumps({"version": version, "name": name, "problem": "no schema"}))
