"""The stand-in for AWS, and template.yaml deployed to it.

The stand-in is ministack, a process of its own on a free loopback port. It has CloudFormation
with SAM's transform, API Gateway, Lambda (it runs the real `bootstrap` programs), DynamoDB,
SQS with its mapping to Lambda, EventBridge, IAM and Secrets Manager. With AUTH it checks every
call of a function against the function's own role, so a permission that is missing in the
template fails here as it would in the cloud.

What it cannot do stands in NOT_HERE, which the check prints.
"""

from __future__ import annotations

import filecmp
import json
import os
import platform
import re
import socket
import subprocess
import time
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError
from samcli.yamlhelper import yaml_parse

import expansion
from api import ANY, INTEGRATION, without_streams
from processes import running
from progress import CheckFailed, expect, say, wait_for

STACK = "awo"
REGION = "us-east-1"
BUCKET = "packages"
TEMPLATE_KEY = "template.json"
# The stand-in treats this key as the account's root; functions get keys of their roles.
ROOT_KEY = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
START_SECONDS = 60
SAM_SECONDS = 300
DEPLOY_SECONDS = 120
SUBNETS = ["subnet-0a", "subnet-0b"]
SECURITY_GROUPS = ["sg-0a"]
FILE_SYSTEM = "fs-0123456789abcdef0"

# What the stand-in cannot do, and what shows it instead.
NOT_HERE = {
    "response streaming": "the functions that stream are deployed as ordinary ones, and run once more as they were "
    "built under a stand-in for Lambda's Runtime API that takes answers in pieces (streaming.py)",
    "ECS that starts processes": "our own cluster (cluster.py), before it a proxy that asks IAM about each call",
    "EFS": "our own, behind the same proxy",
    "events of `aws.ecs`, which AWS takes from nobody either": "its matcher is asked about the rule, and the "
    "rule's target is invoked",
    "the policy of an API, when it imports one": "compared with the routes of runners (make test)",
    "the role by which an API calls functions": "compared with the functions that its methods name (check_room.py)",
    "ANY methods, when it imports an API": "added by its API, from what the template expands to",
    "gateway responses, TLS, throttling, the 29 s of its gateway": "linted only",
    "alarms over several metrics": "left out; linted, and compared with the runbook (check_operation.py)",
    "CodeDeploy": "an alias leads to the version that is published, at once; what shifts it is linted",
    "dashboards, numbers out of logs, traces": "linted, and compared with the code (check_operation.py)",
    "stacks with EIP, NAT gateways and rules of security groups": "its EC2 makes them from the template's properties "
    "(network.py); the work is done in a stack that is given subnets",
    "sqs:SendMessage for messages sent together, which it asks for under another name": "that name is "
    "allowed wherever sqs:SendMessage is",
    "conditions on the keys of items (LeadingKeys)": "linted, and compared with what the code asks for (make test)",
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@dataclass
class Cloud:
    """A stand-in that runs."""

    url: str
    clients: dict = field(default_factory=dict)

    def client(self, service: str):
        if service not in self.clients:
            self.clients[service] = boto3.client(
                service,
                endpoint_url=self.url,
                region_name=REGION,
                aws_access_key_id=ROOT_KEY["AWS_ACCESS_KEY_ID"],
                aws_secret_access_key=ROOT_KEY["AWS_SECRET_ACCESS_KEY"],
                config=Config(retries={"max_attempts": 2}, connect_timeout=5, read_timeout=60),
            )
        return self.clients[service]


@contextmanager
def ministack(python: Path, scratch: Path):
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    home = scratch / "ministack"
    home.mkdir()
    # Nothing of the caller's environment: neither credentials nor a proxy.
    environment = {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": str(home),
        "TMPDIR": str(home),
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        "AWS_ENDPOINT_URL": url,
        "AUTH": "true",
    }
    log = scratch / "ministack.log"
    with running([str(python), "-m", "ministack"], log, environment, home) as child:

        def ready() -> bool:
            expect(child.poll() is None, f"ministack ended: see {log}")
            try:
                with urllib.request.urlopen(f"{url}/_ministack/health", timeout=2) as answer:
                    return answer.status == 200
            except OSError:
                return False

        wait_for("ministack's start", START_SECONDS, ready)
        say(f"ministack is ready on {url}")
        yield Cloud(url)


# ---------------------------------------------------------------------------- deployment


def sam(program: Path, cloud: Cloud, scratch: Path, *arguments: str) -> None:
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(scratch),
        "AWS_ENDPOINT_URL": cloud.url,
        "AWS_DEFAULT_REGION": REGION,
        "SAM_CLI_TELEMETRY": "0",
        # What is built is taken as it is.
        "AWO_BUILT": "1",
        **ROOT_KEY,
    }
    command = [str(program), *arguments]
    root = expansion.ROOT
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=SAM_SECONDS)
    expect(done.returncode == 0, f"sam {arguments[0]}: {done.stdout[-4000:]}{done.stderr[-4000:]}")


def build(cloud: Cloud, program: Path, scratch: Path) -> Path:
    """`sam build`, whose output is what is deployed: its template, with a folder for each function
    that holds that function's program and nothing else."""
    built = scratch / "built"
    sam(program, cloud, scratch, "build", "--template-file", str(expansion.TEMPLATE), "--build-dir", str(built))
    count = 0
    for name, properties in expansion.functions(expansion.load()).items():
        bootstrap = expansion.ROOT / properties["CodeUri"] / "bootstrap"
        found = [path.name for path in (built / name).iterdir()]
        expect(found == ["bootstrap"], f"sam build made {found} of {name}")
        expect(filecmp.cmp(bootstrap, built / name / "bootstrap", False), f"sam build made another program of {name}")
        count += 1
    say(f"  {count} functions built by SAM")
    return built / "template.yaml"


def package(cloud: Cloud, program: Path, built: Path, scratch: Path) -> dict:
    """The template as `sam deploy` would send it: with the programs uploaded, and their places
    instead of CodeUri's folders."""
    cloud.client("s3").create_bucket(Bucket=BUCKET)
    packaged = scratch / "packaged.yaml"
    where = ["--template-file", str(built), "--output-template-file", str(packaged)]
    sam(program, cloud, scratch, "package", "--no-progressbar", "--s3-bucket", BUCKET, *where)
    objects = cloud.client("s3").list_objects_v2(Bucket=BUCKET)["Contents"]
    say(f"  {len(objects)} packages, {sum(o['Size'] for o in objects) / 1e6:.1f} MB zipped")
    return yaml_parse(packaged.read_text())


def for_this_machine(template: dict, url: str, ecs_url: str) -> dict:
    """The template with what only a test may set. None of this may ever stand in the file, and
    check_template.py sees to that."""
    for properties in expansion.functions(template).values():
        program = properties["FunctionName"]["Fn::Sub"].removeprefix("${AWS::StackName}-")
        variables = properties.setdefault("Environment", {}).setdefault("Variables", {})
        for service in ("DYNAMODB", "SQS", "SECRETS_MANAGER"):
            variables[f"AWS_ENDPOINT_URL_{service}"] = url
        if "AWO_CLUSTER" in variables:
            # The path names the caller to the proxy.
            variables["AWS_ENDPOINT_URL_ECS"] = f"{ecs_url}/{program}"
        if "AWO_SHARED_FILE_SYSTEM" in variables:
            variables["AWS_ENDPOINT_URL_EFS"] = f"{ecs_url}/{program}"
        if program in ("create-work-order", "control"):
            variables["AWO_ALLOW_FILE_REPOSITORIES"] = "1"
    without_streams(template)
    allow_batches(template["Resources"])
    # CloudFormation reads `~1` as a slash, and the stand-in does not.
    api = template["Resources"]["Api"]["Properties"]
    api["BinaryMediaTypes"] = [kind.replace("~1", "/") for kind in api.get("BinaryMediaTypes", [])]
    left_out(template)
    return template


def left_out(template: dict) -> None:
    """What no stack can have here."""
    alarms = [name for name, r in template["Resources"].items() if "Metrics" in r.get("Properties", {})]
    for name in alarms:
        del template["Resources"][name]
    # It publishes versions and leads an alias to them, and has no CodeDeploy that shifts between them.
    for properties in expansion.functions(template).values():
        properties.pop("DeploymentPreference", None)
    # The stand-in's mappings count with the number and get the parameter's text.
    for mapping, parameter in (
        ("DispatchRunsMapping", "DispatchConcurrency"),
        ("DeliverWebhooksMapping", "DeliverConcurrency"),
    ):
        scaling = template["Resources"][mapping]["Properties"]["ScalingConfig"]
        scaling["MaximumConcurrency"] = template["Parameters"][parameter]["Default"]


def allow_batches(node: object) -> None:
    """AWS asks for `sqs:SendMessage` when messages are sent together, and knows no action of their
    own; the stand-in asks for one."""
    if isinstance(node, dict):
        actions = node.get("Action")
        if "sqs:SendMessage" in (actions if isinstance(actions, list) else [actions]):
            node["Action"] = [*(actions if isinstance(actions, list) else [actions]), "sqs:SendMessageBatch"]
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        allow_batches(child)


@dataclass
class Stack:
    cloud: Cloud
    outputs: dict[str, str]
    resources: dict[str, dict]

    @property
    def api(self) -> str:
        """The API's address on this machine: what the gateway serves under the stage."""
        host = self.outputs["ApiUrl"].removeprefix("https://").split("/")[0]
        return f"{self.cloud.url}/_aws/execute-api/{host.split('.')[0]}/live"

    def physical(self, logical: str) -> str:
        return self.resources[logical]["PhysicalResourceId"]

    def of_type(self, kind: str) -> list[str]:
        return [name for name, r in self.resources.items() if r["ResourceType"] == kind]


GIVEN_NETWORK = {
    "SubnetIds": ",".join(SUBNETS),
    "SecurityGroupIds": ",".join(SECURITY_GROUPS),
    "FileSystemId": FILE_SYSTEM,
}


def deploy(cloud: Cloud, template: dict, name: str, parameters: dict[str, str]) -> Stack:
    formation = cloud.client("cloudformation")
    # Of this machine, which the functions were built for.
    parameters = parameters | {"Architecture": "arm64" if platform.machine() in ("aarch64", "arm64") else "x86_64"}
    began = time.monotonic()
    # From the bucket, as SAM does it: a template in the request may have 51,200 bytes.
    cloud.client("s3").put_object(Bucket=BUCKET, Key=TEMPLATE_KEY, Body=json.dumps(template).encode())
    formation.create_stack(
        StackName=name,
        TemplateURL=f"{cloud.url}/{BUCKET}/{TEMPLATE_KEY}",
        Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
        Parameters=[{"ParameterKey": k, "ParameterValue": v} for k, v in parameters.items()],
    )

    def settled():
        stack = formation.describe_stacks(StackName=name)["Stacks"][0]
        return None if stack["StackStatus"].endswith("IN_PROGRESS") else stack

    stack = wait_for("the stack", DEPLOY_SECONDS, settled)
    if stack["StackStatus"] != "CREATE_COMPLETE":
        events = formation.describe_stack_events(StackName=name)["StackEvents"]
        reasons = [
            f"  {e['LogicalResourceId']}: {e.get('ResourceStatusReason')}"
            for e in events
            if "FAILED" in e["ResourceStatus"]
        ]
        raise CheckFailed(f"{stack['StackStatus']}: {stack.get('StackStatusReason')}\n" + "\n".join(reasons))
    found = formation.describe_stack_resources(StackName=name)["StackResources"]
    deployed = Stack(
        cloud,
        {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]},
        {resource["LogicalResourceId"]: resource for resource in found},
    )
    say(
        f"{stack['StackStatus']} in {time.monotonic() - began:.1f} s: {len(found)} resources, "
        f"{len(deployed.of_type('AWS::Lambda::Function'))} functions, "
        f"{len(deployed.of_type('AWS::IAM::Role'))} roles, "
        f"{len(deployed.of_type('AWS::DynamoDB::Table'))} tables, "
        f"{len(deployed.of_type('AWS::SQS::Queue'))} queues"
    )
    return deployed


def complete_api(stack: Stack, expanded: dict) -> None:
    """Adds to the API what the stand-in's import leaves out."""
    gateway, api = stack.cloud.client("apigateway"), stack.physical("Api")
    resources = {r["path"]: r["id"] for r in gateway.get_resources(restApiId=api, limit=500)["items"]}
    added = 0
    for path, methods in expanded["Resources"]["Api"]["Properties"]["Body"]["paths"].items():
        if ANY not in methods:
            continue
        uri = methods[ANY][INTEGRATION]["uri"]["Fn::Sub"]
        logical = re.search(r"functions/\$\{(\w+)\.Arn\}/", uri).group(1)
        function = stack.cloud.client("lambda").get_function_configuration(FunctionName=stack.physical(logical))
        place = {"restApiId": api, "resourceId": resources[path], "httpMethod": "ANY"}
        gateway.put_method(**place, authorizationType="NONE")
        gateway.put_integration(
            **place,
            type="AWS_PROXY",
            integrationHttpMethod="POST",
            uri=f"arn:aws:apigateway:{REGION}:lambda:path/2015-03-31/functions/{function['FunctionArn']}/invocations",
        )
        added += 1
    say(f"  {added} ANY methods added to the stand-in's API")


def policies_of(stack: Stack, program: str) -> list[dict]:
    """The policy documents of a function's role, as they were deployed."""
    iam, functions = stack.cloud.client("iam"), stack.cloud.client("lambda")
    role = functions.get_function_configuration(FunctionName=f"{STACK}-{program}")["Role"].split("/")[-1]
    documents = [
        iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]
        for name in iam.list_role_policies(RoleName=role)["PolicyNames"]
    ]
    for policy in iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"]:
        if policy["PolicyArn"].startswith("arn:aws:iam::aws:"):
            continue
        version = iam.get_policy(PolicyArn=policy["PolicyArn"])["Policy"]["DefaultVersionId"]
        found = iam.get_policy_version(PolicyArn=policy["PolicyArn"], VersionId=version)
        documents.append(found["PolicyVersion"]["Document"])
    return documents


def function_log(cloud: Cloud) -> list[str]:
    try:
        pages = cloud.client("logs").get_paginator("filter_log_events")
        found = pages.paginate(logGroupName=f"/awo/{STACK}/functions").search("events[].message")
        return [line for message in found for line in message.splitlines()]
    except ClientError as error:
        return [f"(no log of the functions: {error})"]
