#!/usr/bin/env python3
"""Builds the clients of a release: what openapi-generator makes of docs/openapi.json, with the hand-written
`follow` of this folder beside it, as a package of each language.

    infra/clients/build.py DIST TOOLS_DIR    # where the packages go; where the tools are kept

| language   | package                         | taken by                                              |
|------------|---------------------------------|-------------------------------------------------------|
| Python     | awo_client-V-py3-none-any.whl   | `pip install FILE_OR_URL`                             |
| TypeScript | awo-client-V.tgz                | `npm install FILE_OR_URL`                             |
| Go         | awo-client-go-V.tar.gz          | unpacked into a module, as its package `awo`          |

V is the version in the document. The same document gives the same bytes.
"""

import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
DOCUMENT = HERE.parents[1] / "docs" / "openapi.json"
LICENSE = HERE.parents[1] / "LICENSE"
STEP_LIMIT_S = 170
PYTHON_TOOLS = ["openapi-generator-cli==7.26.0", "setuptools==80.*", "wheel",
                "pydantic==2.*", "python-dateutil", "urllib3", "typing-extensions"]
SUMMARY = "Client of the Agent Work Order Service, generated from its OpenAPI document"
# The generator writes calls for the events that the service sends, which do not compile.
NO_CALLS = {"python": "webhook_payloads_api.py", "typescript": "WebhookPayloadsApi.ts"}
# Times in archives, so that the same document gives the same bytes.
EPOCH = {**os.environ, "SOURCE_DATE_EPOCH": "315532800"}


class Skipped(Exception):
    """There is no tool chain for it."""


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=STEP_LIMIT_S, check=False, **options)
    if done.returncode != 0:
        text = (done.stdout + done.stderr)[-6000:]
        raise RuntimeError(f"{' '.join(map(str, command))[:100]} ended with {done.returncode}:\n{text}")
    return done.stdout


def tools(folder, *more):
    """A virtual environment with the generator and `more`, and TypeScript's compiler; made once."""
    ready, package = folder / "ready", HERE / "typescript" / "package.json"
    wanted = "\n".join([*PYTHON_TOOLS, *more]) + package.read_text()
    if ready.exists() and ready.read_text() == wanted:
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    run([sys.executable, "-m", "venv", str(folder / "venv")])
    run([str(folder / "venv/bin/pip"), "install", "--quiet", *PYTHON_TOOLS, *more])
    if shutil.which("npm"):
        shutil.copy(package, folder)
        run(["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--loglevel", "error"])
    ready.write_text(wanted)
    return folder


def version():
    return json.loads(DOCUMENT.read_text(encoding="utf-8"))["info"]["version"]


def generate(tool_dir, language, into, *properties):
    if not shutil.which("java"):
        raise Skipped("openapi-generator needs Java, and there is none")
    run([str(tool_dir / "venv/bin/openapi-generator-cli"), "generate", "-i", str(DOCUMENT), "-g", language,
         "-o", str(into), "--global-property", "apiDocs=false,modelDocs=false,apiTests=false,modelTests=false",
         "--additional-properties", ",".join(properties) or "hideGenerationTimestamp=true"],
        env={**os.environ, "JAVA_OPTS": "-Xmx512m"})


def python_package(tool_dir, work, dist):
    generate(tool_dir, "python", work, "packageName=awo_client", f"packageVersion={version()}")
    module = work / "awo_client"
    (module / "api" / NO_CALLS["python"]).unlink()
    shutil.copy(HERE / "python" / "follow.py", module)
    shutil.copy(LICENSE, work)
    dependencies = re.search(r"^dependencies = \[.*?^\]", (work / "pyproject.toml").read_text(), re.M | re.S)[0]
    (work / "pyproject.toml").write_text(f"""[project]
name = "awo-client"
version = "{version()}"
description = "{SUMMARY}"
license = "Apache-2.0"
license-files = ["LICENSE"]
requires-python = ">=3.10"
{dependencies}

[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[tool.setuptools]
packages = ["awo_client", "awo_client.api", "awo_client.models"]

[tool.setuptools.package-data]
awo_client = ["py.typed"]
""")
    for generated in ("setup.py", "setup.cfg"):
        (work / generated).unlink(missing_ok=True)
    run([str(tool_dir / "venv/bin/pip"), "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(dist), str(work)],
        env=EPOCH)
    return dist / f"awo_client-{version()}-py3-none-any.whl"


def typescript_package(tool_dir, work, dist):
    if not shutil.which("npm"):
        raise Skipped("there is no npm")
    generate(tool_dir, "typescript-fetch", work / "src")
    (work / "src" / "apis" / NO_CALLS["typescript"]).unlink()
    apis = work / "src" / "apis" / "index.ts"
    apis.write_text("".join(line for line in apis.read_text().splitlines(True) if "WebhookPayloadsApi" not in line))
    shutil.copy(HERE / "typescript" / "follow.ts", work / "src")
    with (work / "src" / "index.ts").open("a", encoding="utf-8") as index:
        index.write("export * from './follow';\n")
    shutil.copy(HERE / "typescript" / "tsconfig.json", work)
    shutil.copy(LICENSE, work)
    (work / "package.json").write_text(json.dumps({
        "name": "awo-client", "version": version(), "description": SUMMARY, "license": "Apache-2.0",
        "main": "dist/index.js", "types": "dist/index.d.ts", "files": ["dist"], "engines": {"node": ">=18"},
    }, indent=2))
    run([str(tool_dir / "node_modules/.bin/tsc"), "-p", str(work)])
    run(["npm", "pack", "--silent", "--pack-destination", str(dist)], cwd=work)
    return dist / f"awo-client-{version()}.tgz"


def go_package(tool_dir, work, dist):
    generate(tool_dir, "go", work / "awo", "packageName=awo", "withGoMod=false", "enumClassPrefix=true",
             "useOneOfDiscriminatorLookup=true")
    shutil.copy(HERE / "go" / "follow.go", work / "awo")
    shutil.copy(LICENSE, work / "awo")
    packed = dist / f"awo-client-go-{version()}.tar.gz"

    def plain(entry):
        entry.uid = entry.gid = entry.mtime = 0
        entry.uname = entry.gname = ""
        return entry

    with gzip.GzipFile(packed, "wb", mtime=0) as stream, tarfile.open(fileobj=stream, mode="w") as archive:
        for file in sorted((work / "awo").iterdir()):
            if file.suffix == ".go" or file.name == "LICENSE":
                archive.add(file, f"awo/{file.name}", filter=plain)
    return packed


PACKAGES = {"python": python_package, "typescript": typescript_package, "go": go_package}


def main():
    dist, tool_dir = Path(sys.argv[1]).resolve(), tools(Path(sys.argv[2]).resolve())
    shutil.rmtree(dist, ignore_errors=True)
    dist.mkdir(parents=True)
    sums = []
    for language, make in PACKAGES.items():
        with tempfile.TemporaryDirectory(prefix="awo-client.") as work:
            package = make(tool_dir, Path(work), dist)
        sums.append(f"{hashlib.sha256(package.read_bytes()).hexdigest()}  {package.name}\n")
        print(f"{language:11} {package.name} ({package.stat().st_size // 1024} KiB)")
    (dist / "SHA256SUMS").write_text("".join(sums))


if __name__ == "__main__":
    main()
