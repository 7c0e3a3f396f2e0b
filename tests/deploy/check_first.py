"""What `make deploy` asks of an account before SAM changes it, and how it repeats what failed.

`infra/deploy.sh` runs as it is, with programs in front of it that answer as `aws` and `sam` do: the
queries are evaluated as the command line evaluates them, and a stack's status is what SAM left.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROLE = "arn:aws:iam::123456789012:role/ApiGatewayLogs"
PROGRAM = '''#!{python} -B
import sys
sys.path.insert(0, {here!r})
import check_first
sys.exit(check_first.{name}(sys.argv[1:]))
'''


@dataclass
class Account:
    """Scratch of one account, and what was done in it."""

    scratch: Path

    @property
    def state(self) -> dict:
        return json.loads((self.scratch / "state").read_text())

    def change(self, **of: object) -> None:
        path = self.scratch / "state"
        before = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps(before | of))

    def deploy(self, *parameters: str, arch: str = "arm64", yes: str = "1", **more: str) -> tuple[bool, str]:
        environment = {
            "PATH": f"{self.scratch}/bin:{os.environ['PATH']}",
            "SCRATCH": str(self.scratch),
            "STACK": "awo",
            "ARCH": arch,
            "AWS_REGION": "eu-central-1",
            "ANSWERS": str(self.scratch / "answers/awo.env"),
            "SAM": "sam",
            "MAKE": "true",
            "YES": yes,
            **more,
        }
        command = ["bash", str(ROOT / "infra/deploy.sh"), *parameters]
        done = subprocess.run(
            command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
        )
        return done.returncode == 0, done.stdout + done.stderr

    @property
    def deployments(self) -> list[dict[str, str]]:
        return self.state["deployments"]


def account(scratch: Path, **state: object) -> Account:
    (scratch / "bin").mkdir(parents=True)
    for name in ("aws", "sam"):
        program = scratch / "bin" / name
        program.write_text(PROGRAM.format(python=sys.executable, here=str(Path(__file__).parent), name=name))
        program.chmod(0o755)
    made = Account(scratch)
    empty = {"stack": None, "role": None, "vcpus": 6.0, "atOnce": 1000, "reserved": 0, "vpcs": 1, "logs": [], "addresses": 0, "linked": False, "fails": False}
    made.change(**(empty | {"deployments": [], "deleted": 0, "plans": 0, "tags": [], "silenced": []} | state))
    return made


# ---------------------------------------------------------------------------- the programs


def option(arguments: list[str], name: str) -> str:
    return arguments[arguments.index(name) + 1]


def aws(arguments: list[str]) -> int:
    import jmespath

    of = Account(Path(os.environ["SCRATCH"]))
    state = of.state
    match arguments[:2]:
        case ["cloudformation", "describe-stacks"]:
            if not state["stack"]:
                print("An error occurred (ValidationError): Stack with id awo does not exist", file=sys.stderr)
                return 254
            answer: dict = {"Stacks": [state["stack"]]}
        case ["cloudformation", "delete-stack"]:
            of.change(stack=None, deleted=state["deleted"] + 1)
            return 0
        case ["cloudformation", "describe-stack-events"]:
            event = {"ResourceStatus": "CREATE_FAILED", "LogicalResourceId": "Cluster", "ResourceStatusReason": "why"}
            answer = {"StackEvents": [event]}
        case ["apigateway", "get-account"]:
            answer = {"cloudwatchRoleArn": state["role"]} if state["role"] else {}
        case ["service-quotas", "get-service-quota"]:
            quota = {"L-3032A538": state["vcpus"], "L-F678F1CE": 5.0, "L-0263D0A3": 5.0}[option(arguments, "--quota-code")]
            if quota is None:
                return 254
            answer = {"Quota": {"Value": quota}}
        case ["lambda", "get-account-settings"]:
            unreserved = state["atOnce"] - state["reserved"]
            answer = {
                "AccountLimit": {"ConcurrentExecutions": state["atOnce"], "UnreservedConcurrentExecutions": unreserved}
            }
        case ["logs", "describe-log-groups"]:
            names = [f"{option(arguments, '--log-group-name-prefix')}{name}" for name in state["logs"]]
            answer = {"logGroups": [{"logGroupName": name} for name in names]}
        case ["ec2", "describe-vpcs"]:
            answer = {"Vpcs": [{}] * state["vpcs"]}
        case ["ec2", "describe-addresses"]:
            answer = {"Addresses": [{}] * state["addresses"]}
        case ["cloudformation", "describe-stack-resources"]:
            kinds = {"Application": ["application"], "DeploymentGroup": ["group-1", "group-2"]}
            found = [
                {"ResourceType": f"AWS::CodeDeploy::{kind}", "PhysicalResourceId": name}
                for kind, names in kinds.items()
                for name in names
            ]
            answer = {"StackResources": found}
        case ["deploy", "update-deployment-group"]:
            names = ("--application-name", "--current-deployment-group-name", "--alarm-configuration")
            of.change(silenced=[*state["silenced"], [option(arguments, name) for name in names]])
            return 0
        case ["sts", "get-caller-identity"]:
            answer = {"Account": "123456789012"}
        case ["iam", "create-service-linked-role"]:
            if state["linked"]:
                print("(InvalidInput): Service role name AWSServiceRoleForECS has been taken", file=sys.stderr)
                return 254
            of.change(linked=True)
            return 0
        case ["cloudformation", "wait"]:
            return 0
        case other:
            raise SystemExit(f"{other} is not expected")
    found = jmespath.search(option(arguments, "--query"), answer)
    if isinstance(found, list):
        rows = found if found and isinstance(found[0], list) else [found]
        print("\n".join("\t".join(map(str, row)) for row in rows))
    else:
        print(found)
    return 0


def sam(arguments: list[str]) -> int:
    of = Account(Path(os.environ["SCRATCH"]))
    state = of.state
    tags = arguments[arguments.index("--tags") + 1 : arguments.index("--parameter-overrides")] if "--tags" in arguments else []
    of.change(tags=tags)
    if "--no-execute-changeset" in arguments:
        of.change(plans=state["plans"] + 1)
        return 0
    given = dict(word.split("=", 1) for word in arguments[arguments.index("--parameter-overrides") + 1 :])
    before = {p["ParameterKey"]: p["ParameterValue"] for p in (state["stack"] or {}).get("Parameters", [])}
    parameters = [{"ParameterKey": key, "ParameterValue": value} for key, value in (before | given).items()]
    status = "ROLLBACK_COMPLETE" if state["fails"] else "CREATE_COMPLETE"
    # SAM asks for an update of whatever is there, and CloudFormation refuses one of a stack that never was.
    if state["stack"] and state["stack"]["StackStatus"] == "ROLLBACK_COMPLETE":
        return 1
    role = ROLE if given.get("ApiLogRole") == "Create" else state["role"]
    # The service-linked role has to be there before a cluster is.
    deployed = [*state["deployments"], given | {"linked": str(state["linked"])}]
    of.change(stack={"StackStatus": status, "Parameters": parameters}, deployments=deployed, role=role)
    return 1 if state["fails"] else 0


# ---------------------------------------------------------------------------- what has to hold


def check() -> list[str]:
    faults: list[str] = []

    def expect(holds: object, otherwise: str) -> None:
        if not holds:
            faults.append(f"make deploy: {otherwise}")

    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)

        empty = account(scratch / "empty")
        well, output = empty.deploy("AlarmTopic=arn:topic")
        expect(well and "Make the stack awo in eu-central-1" in output, f"an empty account: {output}")
        first, second = (empty.deployments + [{}, {}])[:2]
        expect(first.get("linked") == "True", "the service-linked role is not there before the stack")
        expect(first.get("ApiLogRole") == "Create", "no role for logs is made where there is none")
        expect((first.get("DataOnDelete"), second.get("DataOnDelete")) == ("Delete", "Retain"), f"{empty.deployments}")
        expect(int(first.get("ControlConcurrency", 0)) > 0, "control is not guaranteed where the account can reserve")
        well, output = empty.deploy("MaxTasks=5")
        expect(well and empty.deployments[-1].keys() == {"MaxTasks", "Architecture", "linked"}, f"{empty.deployments[-1]}")
        well, output = empty.deploy(arch="x86_64", yes="")
        expect(not well and "need a new image" in output, f"another architecture: {output}")

        silent = account(scratch / "silent")
        well, output = silent.deploy("AlarmTopic=arn:topic", yes="")
        line = [line for line in output.splitlines() if "Make the stack awo" in line]
        expect(not well and not silent.deployments, "deploys without an answer")
        wanted = ("eu-central-1", "123456789012", "AlarmTopic=arn:topic", "ApiLogRole=Create")
        expect(line and all(word in line[0] for word in wanted), f"does not say in one line what it will do: {output}")

        shared = account(scratch / "shared", role=ROLE)
        well, output = shared.deploy()
        expect(well and shared.deployments[0]["ApiLogRole"] == "Existing", f"the account's role for logs: {output}")
        asked = account(scratch / "asked", role=ROLE)
        well, output = asked.deploy("ApiLogRole=Create", yes="")
        expect(not well and ROLE in output and not asked.deployments, f"replaces the account's role for logs: {output}")

        failing = account(scratch / "failing", fails=True)
        well, output = failing.deploy("AlarmTopic=arn:topic", "MaxTasks=2")
        expect(not well and "Cluster\twhy" in output, f"does not say why it failed: {output}")
        expect([d["DataOnDelete"] for d in failing.deployments] == ["Delete"], "what failed leaves tables behind")
        failing.change(fails=False)
        well, output = failing.deploy()
        stored = failing.deployments[-1]
        expect(well and failing.state["deleted"] == 1, f"is not repeated: {output}")
        expect((stored.get("AlarmTopic"), stored.get("MaxTasks")) == ("arn:topic", "2"), f"answers are lost: {stored}")
        expect(stored.get("DataOnDelete") == "Retain", f"tables stay unprotected: {stored}")

        half = account(scratch / "half")
        half.deploy("DataOnDelete=Retain")
        answers = half.scratch / "answers/awo.env"
        answers.write_text(answers.read_text() + "Unfinished=1\n")
        half.deploy()
        expect(half.deployments[-1].get("DataOnDelete") == "Retain", "a deployment that broke off leaves tables unprotected")
        expect("Unfinished" not in answers.read_text(), "a deployment that was finished is taken for one that was not")

        small = account(scratch / "small", vcpus=4.0)
        well, output = small.deploy("MaxTasks=100")
        expect(not well and "MaxTasks=3" in output and not small.deployments, f"more tasks than the account has: {output}")
        well, output = small.deploy("MaxTasks=4")
        expect(not well and not small.deployments, f"no vCPU is left for the cleaner: {output}")
        well, output = small.deploy("MaxTasks=100", IGNORE_QUOTAS="1")
        expect(well, f"IGNORE_QUOTAS: {output}")
        new = account(scratch / "new", vcpus=4.0, atOnce=10)
        well, output = new.deploy()
        expect(well and "ControlConcurrency" not in new.deployments[0], f"a new account, with the defaults: {output}")
        well, output = new.deploy("ControlConcurrency=5")
        expect(not well and "reserved" in output, f"reserves what the account does not have: {output}")
        tight = account(scratch / "tight", reserved=700)
        well, output = tight.deploy()
        expect(well and "ControlConcurrency" not in tight.deployments[0], f"other stacks have reserved: {output}")
        expect("300 of the account are not reserved" in output, f"does not say why it reserves nothing: {output}")
        well, output = tight.deploy("ControlConcurrency=150", "StreamConcurrency=100")
        expect(not well and "may have 200" in output, f"reserves what others have reserved: {output}")
        well, output = tight.deploy("ControlConcurrency=100", "StreamConcurrency=100")
        expect(well, f"reserves what the account can spare: {output}")
        tight.change(reserved=900)
        well, output = tight.deploy("ControlConcurrency=150", "StreamConcurrency=50")
        expect(well, f"counts against a stack what it has reserved itself: {output}")
        well, output = tight.deploy("StreamConcurrency=60")
        expect(not well, f"more than the account can spare: {output}")

        logged = account(scratch / "logged", logs=["api", "runs"])
        well, output = logged.deploy()
        expect(not well and "/awo/awo/api /awo/awo/runs" in output, f"logs of an earlier stack: {output}")
        wide = account(scratch / "wide", vpcs=5)
        well, output = wide.deploy()
        expect(not well and "1 VPC more" in output and "5 of 5" in output, f"no VPC is left: {output}")
        well, output = wide.deploy("SubnetIds=subnet-1", "SecurityGroupIds=sg-1")
        expect(well, f"needs no VPC: {output}")
        zones = account(scratch / "zones", addresses=4)
        well, output = zones.deploy("Network=NatPerZone")
        expect(not well and "2 Elastic IP address more" in output, f"one address is left: {output}")
        well, output = zones.deploy()
        expect(well, f"one address is left, and one is needed: {output}")
        well, output = zones.deploy("Network=Public")
        expect(well, f"no address is needed: {output}")

        alarmed = account(scratch / "alarmed")
        alarmed.deploy()
        well, output = alarmed.deploy("DeployAlarms=Off")
        silenced = [tuple(call) for call in alarmed.state["silenced"]]
        wanted = [("application", group, "enabled=false") for group in ("group-1", "group-2")]
        expect(well and silenced == wanted, f"an alarm prevents its repair: {output} {silenced}")
        well, output = alarmed.deploy()
        expect("Set DeployAlarms=On" in output, f"alarms are off without a word: {output}")
        well, output = alarmed.deploy("DeployAlarms=On")
        expect(well and len(alarmed.state["silenced"]) == 4, f"alarms do not come back: {output}")

        planned = account(scratch / "planned", linked=False)
        well, output = planned.deploy("MaxTasks=3", PLAN="1", TAGS="team=a cost-center=7")
        state = planned.state
        expect(well and state["plans"] == 1 and not planned.deployments, f"a plan changes something: {output}")
        expect(not state["linked"] and "Nothing was changed" in output, f"a plan changes the account: {output}")
        well, output = planned.deploy(TAGS="team=a cost-center=7")
        expect(well and planned.state["tags"] == ["team=a", "cost-center=7"], f"tags: {planned.state['tags']}")
        well, output = planned.deploy(TAGS="team")
        expect(not well and "Name=value" in output, f"a tag without a value: {output}")
        unknown = account(scratch / "unknown", vcpus=None)
        well, output = unknown.deploy()
        expect(well and "could not be read" in output, f"a quota that nobody may read: {output}")
    return faults


if __name__ == "__main__":
    found = check()
    print("\n".join(found) or "sound")
    sys.exit(1 if found else 0)
