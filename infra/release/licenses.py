#!/usr/bin/env python3
"""Prints the licence texts of every crate that is linked into the released programs, as their licences
require: licenses.py TARGET. A crate that ships no text is listed with its licence and its repository."""

import json
import subprocess
import sys
from pathlib import Path

PROGRAMS = {"awo", "awo-local", "awo-runner"}
NAMES = ("LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE")
RULE = "=" * 80


def linked(metadata):
    """The packages from registries that the programs link: neither tests' nor build scripts' own."""
    packages = {package["id"]: package for package in metadata["packages"]}
    edges = {
        node["id"]: [
            dependency["pkg"]
            for dependency in node["deps"]
            if any(kind["kind"] is None for kind in dependency["dep_kinds"])
        ]
        for node in metadata["resolve"]["nodes"]
    }
    pending = [id for id, package in packages.items() if package["source"] is None and package["name"] in PROGRAMS]
    if len(pending) != len(PROGRAMS):
        sys.exit(f"licenses.py: the workspace has not all of {', '.join(sorted(PROGRAMS))}")
    seen = set(pending)
    while pending:
        new = set(edges[pending.pop()]) - seen
        seen |= new
        pending.extend(new)
    external = [packages[id] for id in seen if packages[id]["source"] is not None]
    return sorted(external, key=lambda package: (package["name"], package["version"]))


def texts(package):
    folder = Path(package["manifest_path"]).parent
    files = {path for path in folder.iterdir() if path.is_file() and path.name.upper().startswith(NAMES)}
    if package["license_file"]:
        files.add(folder / package["license_file"])
    return [path.read_text(encoding="utf-8", errors="replace").strip() for path in sorted(files)]


def main():
    target = sys.argv[1]
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=Path(__file__).resolve().parents[2])
    packages = linked(json.loads(output.stdout))
    if not packages:
        sys.exit("licenses.py: the programs link nothing, which cannot be")
    # Many crates have the same text; it is printed once, after the names of all of them.
    crates_by_text = {}
    for package in packages:
        title = f"{package['name']} {package['version']} ({package['license'] or 'see its text'})"
        contents = texts(package) or [f"No text in the crate; its repository is {package['repository'] or 'not stated'}."]
        for text in contents:
            crates_by_text.setdefault(text, []).append(title)
    for text, crates in crates_by_text.items():
        print(RULE, *crates, RULE, "", text, "", sep="\n")


main()
