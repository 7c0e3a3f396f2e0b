"""The cluster of the deployed functions: our own ECS server with the file system that its tasks
mount, and a proxy before both.

The functions' calls arrive at the proxy under a path that names the function. The proxy asks IAM
whether the function's role allows the call, as ECS would, and only then passes it on, signed
with the cluster's own key. So a missing `ecs:` or `iam:PassRole` permission fails here as well.
"""

from __future__ import annotations

import json
import re
import subprocess
import threading
import urllib.error
import urllib.request
from collections import Counter
from contextlib import contextmanager
from fnmatch import fnmatchcase
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cloud import FILE_SYSTEM, SECURITY_GROUPS, SUBNETS, Stack, policies_of
from processes import running
from progress import expect, say

CALL_SECONDS = 30
TARGET = "AmazonEC2ContainerServiceV20141113."
ACCESS_POINTS = "2015-02-01/access-points"
OWN = "arn:aws:elasticfilesystem:us-east-1:000000000000"


class EcsProxy:
    """Opened before the stack is there, because the stack needs its address."""

    def __init__(self) -> None:
        self.stack: Stack | None = None
        self.inner: dict | None = None
        self.calls: Counter = Counter()
        # Faults that a test can bring about: a cluster without room, and events that get lost.
        self.full = False
        self.loses_events = False
        self.turned_away = 0
        self.denied: list[str] = []
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:  # noqa: N802, the name is the library's
                body = self.rfile.read(int(self.headers.get("content-length", "0")))
                program, _, rest = self.path.strip("/").partition("/")
                if rest:
                    status, answer = proxy.call_files(program, self.command, rest, self.headers, body)
                else:
                    status, answer = proxy.call(program, self.headers, body)
                self.send_response(status)
                self.send_header("content-type", "application/json" if rest else "application/x-amz-json-1.1")
                if rest and status == 409:
                    self.send_header("x-amzn-errortype", "AccessPointAlreadyExists")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_GET = do_POST  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def call(self, program: str, headers, body: bytes) -> tuple[int, bytes]:
        operation = headers.get("x-amz-target", "").removeprefix(TARGET)
        self.calls[f"{program} {operation}"] += 1
        refusal = self.refusal(program, operation, json.loads(body))
        if refusal:
            self.denied.append(refusal)
            return 400, json.dumps({"__type": "AccessDeniedException", "message": refusal}).encode()
        if operation == "RunTask" and self.full:
            self.turned_away += 1
            failure = {"arn": json.loads(body)["cluster"], "reason": "RESOURCE:MEMORY"}
            return 200, json.dumps({"tasks": [], "failures": [failure]}).encode()
        passed = {"content-type": headers["content-type"], "x-amz-target": headers["x-amz-target"]}
        return self.pass_on("POST", self.inner["url"], passed, headers, body)

    def call_files(self, program: str, method: str, rest: str, headers, body: bytes) -> tuple[int, bytes]:
        expect(rest.split("?")[0] == ACCESS_POINTS, f"{rest} is no call of EFS that is made here")
        operation = {"POST": "CreateAccessPoint", "GET": "DescribeAccessPoints"}[method]
        self.calls[f"{program} {operation}"] += 1
        file_system, point = f"{OWN}:file-system/{FILE_SYSTEM}", f"{OWN}:access-point/{rest.split('=')[-1]}"
        resource = file_system if method == "POST" else point
        policies = policies_of(self.stack, program)
        if not allowed(self.stack, policies, f"elasticfilesystem:{operation}", resource, {}):
            self.denied.append(f"the role of {program} does not allow {operation} on {resource}")
            return 403, json.dumps({"Message": self.denied[-1]}).encode()
        passed = {"content-type": "application/json"}
        return self.pass_on(method, f"{self.inner['filesUrl']}/{rest}", passed, headers, body or None)

    def pass_on(self, method: str, url: str, passed: dict, headers, body: bytes | None) -> tuple[int, bytes]:
        # The cluster knows one key; it authorizes every caller.
        credential = f"Credential={self.inner['accessKeyId']}/"
        signed = re.sub(r"Credential=[^/]+/", credential, headers.get("authorization", ""))
        request = urllib.request.Request(url, data=body, method=method, headers={**passed, "authorization": signed})
        try:
            with urllib.request.urlopen(request, timeout=CALL_SECONDS) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def revision(self, definition: str | None) -> str | None:
        """What ECS asks IAM about: of a family, its newest revision."""
        if definition is None or ":" in definition:
            return definition
        base = self.stack.physical("RunnerTask")
        prefix, _, newest = base.rpartition("/")
        return base if definition == newest.split(":")[0] else f"{prefix}/{definition}:1"

    def refusal(self, program: str, operation: str, body: dict) -> str | None:
        """What IAM has against the call, if anything."""
        cluster = f"arn:aws:ecs:us-east-1:000000000000:cluster/{body.get('cluster', '').rsplit('/')[-1]}"
        in_cluster = {"ecs:cluster": cluster}
        wanted = {
            "RunTask": [("ecs:RunTask", self.revision(body.get("taskDefinition")), in_cluster)],
            "StopTask": [("ecs:StopTask", body.get("task"), in_cluster)],
            "DescribeTasks": [("ecs:DescribeTasks", task, in_cluster) for task in body.get("tasks", [])],
            "ListTasks": [("ecs:ListTasks", "*", in_cluster)],
            "DescribeTaskDefinition": [("ecs:DescribeTaskDefinition", "*", {})],
            "RegisterTaskDefinition": [("ecs:RegisterTaskDefinition", "*", {})],
            "ListTaskDefinitions": [("ecs:ListTaskDefinitions", "*", {})],
            "DeregisterTaskDefinition": [("ecs:DeregisterTaskDefinition", "*", {})],
        }.get(operation)
        if wanted is None:
            return f"{operation} is not known to the proxy"
        if operation == "RunTask":
            network = body["networkConfiguration"]["awsvpcConfiguration"]
            if (network["subnets"], network["securityGroups"]) != (SUBNETS, SECURITY_GROUPS):
                return f"the task would run in {network}"
            if {tag["key"] for tag in body.get("tags", [])} != {"awo:organization", "awo:stack"}:
                return f"the task would have the tags {body.get('tags')}"
            task = f"{cluster.replace(':cluster/', ':task/')}/1"
            wanted.append(("ecs:TagResource", task, {"ecs:CreateAction": "RunTask"}))
        if operation in ("RunTask", "RegisterTaskDefinition"):
            # ECS passes the roles of the task definition on, and asks whether the caller may.
            passed = {"iam:PassedToService": "ecs-tasks.amazonaws.com"}
            wanted += [("iam:PassRole", role, passed) for role in task_roles(self.stack)]
        policies = policies_of(self.stack, program)
        for action, resource, context in wanted:
            if not allowed(self.stack, policies, action, resource, context):
                return f"the role of {program} does not allow {action} on {resource}"
        return None


def task_roles(stack: Stack) -> list[str]:
    iam = stack.cloud.client("iam")
    return [
        iam.get_role(RoleName=stack.physical(name))["Role"]["Arn"]
        for name in ("RunnerTaskRole", "RunnerExecutionRole")
    ]


def allowed(stack: Stack, policies: list[dict], action: str, resource: str, context: dict[str, str]) -> bool:
    """The stand-in's IAM simulates actions and resources but no conditions: those come first."""
    left = [
        {key: value for key, value in statement.items() if key != "Condition"}
        for policy in policies
        for statement in policy["Statement"]
        if all(holds(operator, keys, context) for operator, keys in statement.get("Condition", {}).items())
    ]
    if not left:
        return False
    answer = stack.cloud.client("iam").simulate_custom_policy(
        PolicyInputList=[json.dumps({"Version": "2012-10-17", "Statement": left})],
        ActionNames=[action],
        ResourceArns=[resource],
    )
    return all(result["EvalDecision"] == "allowed" for result in answer["EvaluationResults"])


def holds(operator: str, keys: dict[str, str | list[str]], context: dict[str, str]) -> bool:
    """Only the operators that the template uses, for calls of one item; any other does not hold."""
    if operator == "ForAllValues:StringLike":
        # Without a key it would hold of every call; nobody asks here without saying whose item it is.
        return all(key in context and any(fnmatchcase(context[key], of) for of in keys[key]) for key in keys)
    return operator in ("ArnEquals", "StringEquals") and all(context.get(key) == keys[key] for key in keys)

# ---------------------------------------------------------------------------- the cluster


def container_of(stack: Stack) -> dict:
    ecs = stack.cloud.client("ecs")
    definition = ecs.describe_task_definition(taskDefinition=stack.outputs["RunnerTask"])["taskDefinition"]
    expect(len(definition["containerDefinitions"]) == 1, "the task has one container")
    return definition["containerDefinitions"][0]


@contextmanager
def cluster(program: Path, runner: Path, stack: Stack, proxy: EcsProxy, scratch: Path, root: bool):
    """Starts the ECS server with the deployed task definition, of which only the image and what
    is bound to this machine are replaced; its events go to the stack's rules."""
    container = container_of(stack)
    variables = {entry["name"]: entry["value"] for entry in container["environment"]}
    expected = {
        "AWO_CONTROL_URL",
        "AWO_WORKSPACE_ROOT",
        "AWO_SHARED_ROOT",
        "AWO_AGENT_UID",
        "AWO_AGENT_GID",
        "AWO_PRIVATE_HOSTS",
    }
    expect(variables.keys() == expected, f"the container's variables are {sorted(variables)}")
    workspaces, logs = scratch / "workspaces", scratch / "tasks"
    for folder in (workspaces, logs):
        folder.mkdir()
    # Agents are another user and have to reach their workspace.
    workspaces.chmod(0o711)
    variables |= {"AWO_CONTROL_URL": stack.api, "AWO_WORKSPACE_ROOT": str(workspaces)}
    if not root:
        # Only root can become another user.
        del variables["AWO_AGENT_UID"], variables["AWO_AGENT_GID"]
    settings = {
        "cluster": stack.outputs["Cluster"],
        "taskDefinition": stack.outputs["RunnerTask"],
        "container": container["name"],
        "command": [str(runner)],
        "supervisor": [str(runner), "supervise", "--"],
        "environment": variables,
        "stopTimeoutS": container["stopTimeout"],
        "logDirectory": str(logs),
        "files": str(scratch / "files"),
        # The stand-in loses the names of volumes.
        "volumes": [{"name": mount["sourceVolume"]} for mount in container["mountPoints"]],
        "mountPoints": container["mountPoints"],
    }
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with running([str(program)], scratch / "local-ecs.log", environment, scratch, **pipes) as child:
        child.stdin.write(json.dumps(settings) + "\n")
        child.stdin.flush()
        first = child.stdout.readline()
        expect(first, "local-ecs ended at once: see local-ecs.log")
        proxy.stack, proxy.inner = stack, json.loads(first)
        threading.Thread(target=forward, args=(child.stdout, stack, proxy), daemon=True).start()
        say(f"the cluster {settings['cluster']} is ready")
        yield


def forward(lines, stack: Stack, proxy: EcsProxy) -> None:
    """What EventBridge does with a task's event. Nobody but AWS may put events of `aws.ecs`, on
    the stand-in neither, so its own matcher is asked about the deployed rules, and their targets
    are invoked as EventBridge would."""
    events, functions = stack.cloud.client("events"), stack.cloud.client("lambda")
    rules = [events.describe_rule(Name=stack.physical(name)) for name in stack.of_type("AWS::Events::Rule")]
    patterns = {rule["Name"]: rule["EventPattern"] for rule in rules if rule.get("EventPattern")}
    for event in lines:
        if proxy.loses_events:
            continue
        for rule, pattern in patterns.items():
            if events.test_event_pattern(EventPattern=pattern, Event=event)["Result"]:
                for target in events.list_targets_by_rule(Rule=rule)["Targets"]:
                    functions.invoke(FunctionName=target["Arn"], InvocationType="Event", Payload=event)
