"""What `make image` pushes and deploys: a tag that nobody moves, and the digest of what was built.

The target runs as it is, with programs in front of it that answer as `aws` and `docker` do.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REPOSITORY = "123456789012.dkr.ecr.eu-central-1.amazonaws.com/awo-runnerrepository-x"
OLD, NEW = f"sha256:{'a' * 64}", f"sha256:{'b' * 64}"
AWS = f"""#!/usr/bin/env bash
case "$*" in
    *RunnerRepository*) echo {REPOSITORY} ;;
    *Architecture*) echo arm64 ;;
    *RunnerImage*) echo "$PREVIOUS" ;;
    "ecr get-login-password"*) echo password ;;
    *) echo "$* is not expected" >&2; exit 1 ;;
esac
"""
DOCKER = f"""#!/usr/bin/env bash
echo "docker $*" >>"$CALLS"
case "$*" in
    login*) cat >/dev/null ;;
    *"buildx build"*)
        while [ $# -gt 0 ] && [ "$1" != --metadata-file ]; do shift; done
        printf '{{\\n  "containerimage.digest": "{NEW}"\\n}}\\n' >"$2" ;;
esac
"""


def image(scratch: Path, previous: str, *arguments: str) -> tuple[bool, str, str]:
    """Whether it succeeds, its output, and the calls of docker."""
    for name, text in (("aws", AWS), ("docker", DOCKER)):
        program = scratch / name
        program.write_text(text)
        program.chmod(0o755)
    calls = scratch / "calls"
    calls.write_text("")
    environment = os.environ | {"PATH": f"{scratch}:{os.environ['PATH']}", "PREVIOUS": previous, "CALLS": str(calls)}
    deploy = "DEPLOY_IMAGE=echo deployed"
    command = ["make", "--silent", "image", "STACK=checked", "REGION=eu-central-1", deploy, *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
    return done.returncode == 0, done.stdout + done.stderr, calls.read_text()


def check() -> list[str]:
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        well, output, calls = image(scratch, f"{REPOSITORY}@{OLD}")
        if not well or f"deployed PARAMETERS=RunnerImage={REPOSITORY}@{NEW}" not in output:
            faults.append(f"make image: does not deploy the digest that it built: {output}")
        if f"name={REPOSITORY}:runs-20" not in calls or ":latest" in calls:
            faults.append(f"make image: pushes a tag that is used again: {calls}")
        if f"--cache-from {REPOSITORY}@{OLD}" not in calls:
            faults.append(f"make image: builds every layer anew: {calls}")
        well, output, calls = image(scratch, "None", "IMAGE_TAG=node-1")
        if not well or "deployed" in output or f"{REPOSITORY}:node-1 is {REPOSITORY}@{NEW}" not in output:
            faults.append(f"make image IMAGE_TAG=: {output}")
        if "--cache-from" in calls or f"name={REPOSITORY}:node-1" not in calls:
            faults.append(f"make image IMAGE_TAG=: {calls}")
    return faults


if __name__ == "__main__":
    found = check()
    print("\n".join(found) or "sound")
    sys.exit(1 if found else 0)
