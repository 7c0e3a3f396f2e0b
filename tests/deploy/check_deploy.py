"""`make check-deploy`: proves the cloud deployment without an account.

  lint    template.yaml and what it expands to (check_template.py), what `make deploy` does to an
          account (check_first.py), `make image` (check_image.py) and `make restore` (check_restore.py)
  build   every function as it is deployed, and the programs that the next step needs
  deploy  what `sam build` makes of template.yaml to a stand-in for AWS on loopback: with a network of
          its own, and into one that is there; and through the second whole runs, a webhook's delivery,
          every operation, and answers that stream

`--only STEP` runs one of them. Nothing here needs a credential or sends anything off this
machine, except that the build fetches crates that are not there yet.
"""

from __future__ import annotations

import argparse
import logging
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import check_first  # noqa: E402
import check_image  # noqa: E402
import check_restore  # noqa: E402
import check_template  # noqa: E402
import cloud  # noqa: E402
import cluster  # noqa: E402
import expansion  # noqa: E402
import network  # noqa: E402
import operations  # noqa: E402
import receiver  # noqa: E402
import spine  # noqa: E402
import stops  # noqa: E402
import streaming  # noqa: E402
import webhooks  # noqa: E402
from processes import tail  # noqa: E402
from progress import CheckFailed, expect, say, step  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
TOOLS = Path(sys.executable).parent
MINISTACK = TOOLS.parents[1] / "ministack/bin/python"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
# CodeUri names this folder whatever the target directory is.
FUNCTIONS = ROOT / "target/lambda"
BUILD_SECONDS = 3600
# `release`, or `dev` for the programs of the tests.
PROFILE = os.environ.get("PROFILE", "release")
# This machine's, as the template and `make` name it.
ARCH = platform.machine().replace("aarch64", "arm64")
# What Lambda takes unzipped.
MAX_FUNCTION_BYTES = 250 * 1024 * 1024
# What the deployed functions need on this machine.
PROGRAMS = ("runner", "local-ecs", "awo")
SMALL_TEST = "killed_cloud"
# Stacks that make their network, with the parameters of each.
NETWORKS = {
    "awo-nat": {"ApiLogRole": "Create"},
    "awo-zones": {"Network": "NatPerZone"},
    "awo-public": {"Network": "Public"},
}
STEPS = ("lint", "build", "deploy")


def lint() -> None:
    faults = check_template.check() + check_first.check() + check_image.check() + check_restore.check()
    if faults:
        raise CheckFailed("the deployment has faults:\n" + "\n".join(f"  {fault}" for fault in faults))


def run(*command: str) -> None:
    began = time.monotonic()
    environment = {name: value for name, value in os.environ.items() if name != "RUSTFLAGS"}
    say("$ " + " ".join(command))
    done = subprocess.run(command, cwd=ROOT, env=environment, timeout=BUILD_SECONDS)
    expect(done.returncode == 0, f"{' '.join(command[:3])} failed")
    say(f"  {time.monotonic() - began:.1f} s")


def build() -> None:
    # The functions of this machine's kind, as `make build` releases them, unless the profile is another.
    run("make", "build", f"ARCH={ARCH}", f"PROFILE={PROFILE}")
    # A test of the workspace goes along: without one cargo chooses other features for what all of it
    # stands on, and would build anew what `make test` has built.
    wanted = [argument for name in PROGRAMS for argument in ("--bin", name)]
    run("cargo", "build", "--locked", "--workspace", *wanted, "--test", SMALL_TEST)
    sizes = {}
    for program in sorted(check_template.programs()):
        bootstrap = FUNCTIONS / program / "bootstrap"
        expect(bootstrap.is_file(), f"the build made no {bootstrap}")
        sizes[program] = bootstrap.stat().st_size
        expect(sizes[program] <= MAX_FUNCTION_BYTES, f"{program} has {sizes[program]} bytes")
    for program, size in sizes.items():
        say(f"  {program:<26} {size / 1e6:5.1f} MB")


def deploy(keep: bool) -> None:
    scratch = Path(tempfile.mkdtemp(prefix="awo-check-deploy-"))
    # Agents are another user and have to reach their workspace.
    scratch.chmod(0o711)
    programs = {name: program(name) for name in PROGRAMS}
    succeeded = False
    try:
        with cloud.ministack(MINISTACK, scratch) as stand_in:
            try:
                through(stand_in, programs, scratch)
                succeeded = True
            except BaseException:
                log = cloud.function_log(stand_in)
                refused = [line for line in log if "AccessDenied" in line]
                say("the functions' log ends in:\n" + "\n".join(log[-60:]))
                say("calls that a role did not allow:\n" + "\n".join(refused[:5] or ["none"]))
                raise
    finally:
        if not succeeded:
            for log in [scratch / "ministack.log", scratch / "local-ecs.log", *scratch.glob("tasks/*")]:
                say(f"{log.name} ends in:\n{tail(log)}")
        if keep or not succeeded:
            say(f"logs and workspaces are in {scratch}")
        else:
            shutil.rmtree(scratch)


def program(name: str) -> Path:
    path = TARGET / "debug" / name
    expect(path.is_file(), f"{path} is missing: run the step `build` first")
    return path


def through(stand_in: cloud.Cloud, programs: dict[str, Path], scratch: Path) -> None:
    proxy = cluster.EcsProxy()
    say("what this stand-in cannot do, and what shows it instead:")
    for what, shown in cloud.NOT_HERE.items():
        say(f"  {what}: {shown}")
    say(f"  functions that stream: {', '.join(sorted(streaming.streaming_programs()))}")
    with step("sam build"):
        built = cloud.build(stand_in, TOOLS / "sam", scratch)
    with step("package"):
        packaged = cloud.package(stand_in, TOOLS / "sam", built, scratch)
    for name, parameters in NETWORKS.items():
        with step(f"deploy template.yaml with a network of its own, {parameters or 'all defaults'}"):
            with network.deployed(stand_in, packaged, name, parameters) as (stack, parts):
                network.holds(stack, parts)
    with step("deploy template.yaml into a network that is there"):
        template = cloud.for_this_machine(packaged, stand_in.url, proxy.url)
        given = cloud.GIVEN_NETWORK | {"LogFilter": "info,awo_store=debug"}
        stack = cloud.deploy(stand_in, template, cloud.STACK, given)
        cloud.complete_api(stack, expansion.expand(expansion.load()))
        say(f"  {stack.outputs['ApiUrl']} is {stack.api} here")
    root = os.geteuid() == 0
    at_work = cluster.cluster(programs["local-ecs"], programs["runner"], stack, proxy, scratch, root)
    with at_work, receiver.receiver(scratch) as heard:
        with step("a customer"):
            client = spine.customer(programs["awo"], stack)
        at_the_service(client, spine.origin(scratch), stack, proxy, heard, scratch)
        expect(not proxy.denied, f"refused by the roles: {proxy.denied}")
        say(f"calls of ECS, each asked of IAM: {dict(proxy.calls)}")


def at_the_service(
    client: spine.Client,
    origin: Path,
    stack: cloud.Stack,
    proxy: cluster.EcsProxy,
    heard: receiver.Receiver,
    scratch: Path,
) -> None:
    with step("what must be refused"):
        spine.refuses_what_it_must(client)
    with step("one work order"):
        spine.succeeds(client, origin)
    with step("one that cannot be cloned"):
        spine.fails_alone(client)
    with step("stopping and starting again"):
        stops.stops(client, origin, stack, proxy)
    with step("every other operation"):
        operations.answer(client)
    with step("a webhook"):
        webhook = webhooks.delivers(client, origin, stack, heard)
    with step("answers that stream"):
        streaming.streams(streaming.Scene(client, stack, origin, heard, webhook, FUNCTIONS, scratch))
    with step("one whose messages are lost"):
        spine.heals(client, origin, stack, proxy)
    with step("the roles"):
        nothing_was_refused(stack.cloud, scratch)
        spine.roles_hold(client, stack)


def nothing_was_refused(stand_in: cloud.Cloud, scratch: Path) -> None:
    """Also not where the code can do without, such as a wake-up that the sweep makes up for."""
    own = [line for log in scratch.glob("*.log") if log.name != "ministack.log" for line in tail(log, 1000).splitlines()]
    refused = [line for line in cloud.function_log(stand_in) + own if "AccessDenied" in line]
    expect(not refused, f"{len(refused)} calls that a role did not allow, such as {refused[:2]}")


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--only", choices=STEPS, help="run this step alone")
    arguments.add_argument("--keep", action="store_true", help="keep logs and workspaces")
    given = arguments.parse_args()
    logging.disable(logging.CRITICAL)
    doing = {"lint": lint, "build": build, "deploy": lambda: deploy(given.keep)}
    try:
        for name in STEPS:
            if given.only in (None, name):
                with step(name):
                    doing[name]()
    except CheckFailed as failure:
        say(f"FAILED: {failure}")
        return 1
    say(f"{given.only or 'the deployment'}: sound")
    return 0


if __name__ == "__main__":
    sys.exit(main())
