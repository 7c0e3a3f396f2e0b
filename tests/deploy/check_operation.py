"""Checks what a deployment is watched by: logs, numbers out of logs, alarms, the dashboard.

A filter whose words are not those of the code, or an alarm on a metric that nobody sends, is silent
for ever, and nothing else would ever report it. So each is followed to where it comes from, and each alarm
to its chapter in docs/operate.md.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import botocore.session
from botocore import xform_name
from botocore.exceptions import UnknownServiceError

import api
from expansion import of_type

ROOT = Path(__file__).resolve().parents[2]
OPERATE = ROOT / "docs/operate.md"
DOCUMENTS = [ROOT / "docs" / name for name in ("operate.md", "deploy.md", "cargo-lambda.md")]
STACK_ENV = ROOT / "infra/stack-env.sh"
OWN = {"Fn::Sub": "awo/${AWS::StackName}"}
OWN_TEXT = OWN["Fn::Sub"]
# CloudWatch's.
MAX_PATTERN = 1_024
MAX_ALARM_METRICS = 10
# What the functions' lines have: tracing's own, Lambda's own, and the fields that filters use.
LINE_FIELDS = {"event", "level", "type", "record.status", "code", "due", "failed"} | {
    # Of a run: its client's wait, and its outcome.
    "seconds",
    "queued",
    "succeeded",
    "minutes",
    "credits",
}
# Metrics by namespace and dimensions, as the services' documentation lists them; by dimension, the kind of
# resource that it must be. None: the value is not a resource's.
API = {"ApiName": None, "Stage": None}
METRICS = {
    ("AWS/ApiGateway", frozenset(API)): {"Count", "4XXError", "5XXError"},
    ("AWS/Lambda", frozenset({"FunctionName"})): {"Invocations", "Errors", "Throttles", "Duration"},
    # Of the account and region: what functions have in common.
    ("AWS/Lambda", frozenset()): {"Throttles", "ConcurrentExecutions"},
    ("AWS/SQS", frozenset({"QueueName"})): {
        "NumberOfMessagesSent",
        "NumberOfMessagesDeleted",
        "ApproximateNumberOfMessagesVisible",
        "ApproximateNumberOfMessagesNotVisible",
        "ApproximateAgeOfOldestMessage",
    },
    ("AWS/DynamoDB", frozenset({"TableName"})): {
        "ReadThrottleEvents",
        "WriteThrottleEvents",
        "ConsumedReadCapacityUnits",
        "ConsumedWriteCapacityUnits",
    },
    ("AWS/DynamoDB", frozenset({"TableName", "Operation"})): {"SystemErrors"},
    # A table's own metrics leave its indexes out.
    ("AWS/DynamoDB", frozenset({"TableName", "GlobalSecondaryIndexName"})): {"ReadThrottleEvents", "WriteThrottleEvents"},
    ("AWS/Events", frozenset({"RuleName"})): {"FailedInvocations"},
}
KINDS = {
    "FunctionName": "AWS::Lambda::Function",
    "QueueName": "AWS::SQS::Queue",
    "TableName": "AWS::DynamoDB::Table",
    "RuleName": "AWS::Events::Rule",
}
OPERATIONS = {"GetItem", "Query", "UpdateItem", "BatchGetItem", "TransactWriteItems"}


# ---------------------------------------------------------------------------- logs


def wrong_logs(expanded: dict) -> list[str]:
    """Every log has a group of this template, and every group an end."""
    groups = of_type(expanded, "AWS::Logs::LogGroup")
    faults = [f"{name}: keeps its lines for ever" for name, p in groups.items() if "RetentionInDays" not in p]
    for name, properties in of_type(expanded, "AWS::Lambda::Function").items():
        if properties.get("LoggingConfig", {}).get("LogGroup", {}).get("Ref") not in groups:
            faults.append(f"{name}: logs to a group of Lambda's own, which has no retention")
    for name, properties in of_type(expanded, "AWS::ECS::TaskDefinition").items():
        for container in properties["ContainerDefinitions"]:
            if container["LogConfiguration"]["Options"]["awslogs-group"].get("Ref") not in groups:
                faults.append(f"{name}: logs to a group that is not of this template")
    for name, properties in of_type(expanded, "AWS::ApiGateway::Stage").items():
        log = properties.get("AccessLogSetting", {})
        if not any(f"${{{group}}}" in json.dumps(log.get("DestinationArn")) for group in groups):
            faults.append(f"{name}: has no access log in a group of this template")
        if "$context.requestId" not in log.get("Format", ""):
            faults.append(f"{name}: its access log has no request id")
        # Whatever a caller sends may hold what is nobody's to keep.
        for secret in ("authorization", "header.", "querystring", "$context.path", "identity.apiKey"):
            if secret.lower() in log.get("Format", "").lower():
                faults.append(f"{name}: its access log shows {secret}")
        if not properties.get("TracingEnabled"):
            faults.append(f"{name}: is not traced")
    return faults


def access_log_fields(expanded: dict) -> set[str]:
    (stage,) = of_type(expanded, "AWS::ApiGateway::Stage").values()
    text = re.sub(r'(?<!")\$context\.[A-Za-z.]+', "1", stage["AccessLogSetting"]["Format"])
    return set(json.loads(text))


# ---------------------------------------------------------------------------- numbers out of logs


def code() -> str:
    folders = (ROOT / "shared", ROOT / "functions")
    return "\n".join(source.read_text() for folder in folders for source in sorted(folder.rglob("*.rs")))


def wrong_filters(template: dict, expanded: dict) -> list[str]:
    faults, source = [], code()
    fields = {"FunctionLogs": LINE_FIELDS, "RunnerLogs": LINE_FIELDS, "ApiLogs": access_log_fields(expanded)}
    for name, properties in of_type(expanded, "AWS::Logs::MetricFilter").items():
        pattern, (number,) = properties["FilterPattern"], properties["MetricTransformations"]
        known = fields[properties["LogGroupName"]["Ref"]]
        used = set(re.findall(r"\$\.([A-Za-z.]+)", pattern + " " + number["MetricValue"]))
        faults += [f"{name}: no line has the field {field}" for field in sorted(used - known)]
        if "$.message" in pattern:
            faults.append(f"{name}: filters by a sentence, which may change; filter by $.event")
        for event in re.findall(r'\$\.event = "([^"]*)"', pattern):
            if f'event = "{event}"' not in source:
                faults.append(f"{name}: no code logs the event {event!r}")
        for code_of_run in re.findall(r'\$\.code = "([^"]*)"', pattern):
            if f"RunErrorCode::{code_of_run}" not in source:
                faults.append(f"{name}: no run ends with {code_of_run}")
        if len(pattern) > MAX_PATTERN:
            faults.append(f"{name}: its pattern has {len(pattern)} characters of {MAX_PATTERN}")
        if number["MetricNamespace"] != OWN:
            faults.append(f"{name}: counts into {number['MetricNamespace']}")
    quick = of_type(expanded, "AWS::Logs::MetricFilter")["QuickLatency"]["FilterPattern"]
    left_out = set(re.findall(r'\$\.resource != "([^"]*)"', quick))
    if left_out != api.streams(template):
        faults.append(f"QuickLatency: leaves out {sorted(left_out)}, and what streams is {sorted(api.streams(template))}")
    return faults


def own_metrics(expanded: dict) -> set[str]:
    filters = of_type(expanded, "AWS::Logs::MetricFilter").values()
    return {properties["MetricTransformations"][0]["MetricName"] for properties in filters}


# ---------------------------------------------------------------------------- alarms and dashboard


def named(value: object) -> str:
    """The resource that a dimension's value names."""
    if isinstance(value, dict):
        return value.get("Ref") or (value.get("Fn::GetAtt") or [""])[0]
    reference = re.fullmatch(r"\$\{([A-Za-z]+)(\.QueueName)?\}", str(value))
    return reference.group(1) if reference else str(value)


def metric_faults(expanded: dict, namespace: str, name: str, dimensions: dict) -> list[str]:
    if namespace == OWN_TEXT:
        known = not dimensions and name in own_metrics(expanded)
        return [] if known else [f"no filter counts {name} {dimensions or ''}"]
    if name not in METRICS.get((namespace, frozenset(dimensions)), set()):
        return [f"{namespace} has no {name} by {sorted(dimensions)}"]
    faults = []
    for dimension, value in dimensions.items():
        kind = KINDS.get(dimension)
        if kind and named(value) not in of_type(expanded, kind):
            faults.append(f"{namespace} {name}: {named(value)} is no {kind} of this template")
    index = dimensions.get("GlobalSecondaryIndexName")
    if index and index not in indexes(expanded, named(dimensions["TableName"])):
        faults.append(f"{namespace} {name}: {named(dimensions['TableName'])} has no index {index}")
    if dimensions.get("Operation", "Query") not in OPERATIONS:
        faults.append(f"{namespace} {name}: there is no operation {dimensions['Operation']}")
    if "ApiName" in dimensions:
        (api,) = of_type(expanded, "AWS::ApiGateway::RestApi").values()
        (stage,) = of_type(expanded, "AWS::ApiGateway::Stage").values()
        if (api["Name"], dimensions["ApiName"]) != ({"Ref": "AWS::StackName"}, "${AWS::StackName}"):
            faults.append(f"{namespace} {name}: the API is named otherwise")
        if stage["StageName"] != dimensions["Stage"]:
            faults.append(f"{namespace} {name}: there is no stage {dimensions['Stage']}")
    return faults


def indexes(expanded: dict, table: str) -> set[str]:
    properties = of_type(expanded, "AWS::DynamoDB::Table").get(table, {})
    return {index["IndexName"] for index in properties.get("GlobalSecondaryIndexes", [])}


def unwatched(expanded: dict) -> list[str]:
    """What fails silently without an alarm: tasks that a schedule starts, and the indexes that every change moves in."""
    watched = json.dumps([looked_at(properties) for properties in of_type(expanded, "AWS::CloudWatch::Alarm").values()])
    faults = []
    for name, rule in of_type(expanded, "AWS::Events::Rule").items():
        starts_task = any("EcsParameters" in target for target in rule.get("Targets", []))
        if starts_task and json.dumps({"Name": "RuleName", "Value": {"Ref": name}}) not in watched:
            faults.append(f"{name}: no alarm says that it starts no task")
    for table in of_type(expanded, "AWS::DynamoDB::Table"):
        own = json.dumps({"Name": "TableName", "Value": {"Ref": table}})
        if "due" in indexes(expanded, table) and f'{own}, {{"Name": "GlobalSecondaryIndexName", "Value": "due"}}' not in watched:
            faults.append(f"{table}: no alarm says that its index due is throttled")
    return faults


def looked_at(properties: dict) -> list[dict]:
    """The metrics of an alarm."""
    if "Metrics" not in properties:
        return [properties]
    return [part["MetricStat"]["Metric"] for part in properties["Metrics"] if "MetricStat" in part]


def text_of(namespace: object) -> str:
    return namespace["Fn::Sub"] if isinstance(namespace, dict) else str(namespace)


def wrong_alarms(expanded: dict) -> list[str]:
    faults = []
    alarms = of_type(expanded, "AWS::CloudWatch::Alarm")
    for name, properties in alarms.items():
        for actions in ("AlarmActions", "OKActions"):
            if "AlarmTopic" not in json.dumps(properties.get(actions, {})):
                faults.append(f"{name}: its {actions} are not AlarmTopic")
        if f"docs/operate.md#{name.lower()}" not in properties.get("AlarmDescription", ""):
            faults.append(f"{name}: does not say where its chapter is")
        if "TreatMissingData" not in properties:
            faults.append(f"{name}: does not say what silence means")
        metrics = looked_at(properties)
        if len(metrics) > MAX_ALARM_METRICS:
            faults.append(f"{name}: reads {len(metrics)} metrics, and may read {MAX_ALARM_METRICS}")
        for metric in metrics:
            dimensions = {d["Name"]: d["Value"] for d in metric.get("Dimensions", [])}
            found = metric_faults(expanded, text_of(metric["Namespace"]), metric["MetricName"], dimensions)
            faults += [f"{name}: {fault}" for fault in found]
    chapters = set(re.findall(r"^### (\w+Alarm)$", OPERATE.read_text(), re.MULTILINE))
    faults += [f"{name}: has no chapter in docs/operate.md" for name in sorted(set(alarms) - chapters)]
    return faults + [f"docs/operate.md: there is no alarm {name}" for name in sorted(chapters - set(alarms))]


def widgets(expanded: dict) -> list[dict]:
    (dashboard,) = of_type(expanded, "AWS::CloudWatch::Dashboard").values()
    return json.loads(dashboard["DashboardBody"]["Fn::Sub"])["widgets"]


def shown(widget: dict):
    """Every (namespace, metric, dimensions) of a widget."""
    for metric in widget["properties"]["metrics"]:
        words = [word for word in metric if isinstance(word, str)]
        yield words[0], words[1], dict(zip(words[2::2], words[3::2], strict=True))


def wrong_dashboard(expanded: dict) -> list[str]:
    faults, places = [], set()
    for widget in widgets(expanded):
        title = widget["properties"]["title"]
        if (widget["x"], widget["y"]) in places:
            faults.append(f"dashboard: {title} lies on another one")
        places.add((widget["x"], widget["y"]))
        for namespace, name, dimensions in shown(widget):
            faults += [f"dashboard, {title}: {f}" for f in metric_faults(expanded, namespace, name, dimensions)]
    on_it = {name for widget in widgets(expanded) for namespace, name, _ in shown(widget) if namespace == OWN_TEXT}
    unseen = own_metrics(expanded) - on_it
    return faults + [f"dashboard: {name} is counted and not shown" for name in sorted(unseen)]


# ---------------------------------------------------------------------------- what the documents say to type

# Of the command line itself, not of a service's API.
CLI_ONLY = {("ecr", "get-login-password"), ("configure", "export-credentials"), ("cloudformation", "wait")}
CLI_NAMES = {("sns", "subscribe"): {"notification-endpoint"}}
CLI_OPTIONS = {"query", "output", "region", "profile", "cli-binary-format", "no-cli-pager", "max-items"}
FENCE = re.compile(r"^( *)```sh\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`]+)`")
COMMAND = re.compile(r"\baws ([a-z0-9-]+) ([a-z0-9-]+)([^\n|;&>()]*)")
# Quoted words may hold whatever ends a command, or looks like an option.
QUOTED = re.compile(r"""'[^']*'|"\$\([^"]*\)"|"[^"$]*\$?[^"]*\"""")


def commands(text: str) -> list[tuple[str, str, str]]:
    """The calls of `aws` in the blocks and in the lines of a document."""
    lines = [line for _, block in FENCE.findall(text) for line in block.replace("\\\n", " ").splitlines()]
    lines += [span.replace("\n", " ") for span in INLINE.findall(FENCE.sub("", text))]
    return [command for line in lines for command in COMMAND.findall(re.sub(" +", " ", QUOTED.sub("X", line)))]


def wrong_commands(document: Path) -> list[str]:
    """Shell that does not parse, and calls of `aws` that it does not have."""
    faults, text = [], document.read_text()
    for indent, block in FENCE.findall(text):
        script = "\n".join(line.removeprefix(indent) for line in block.splitlines())
        parsed = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, timeout=10)
        if parsed.returncode != 0:
            faults.append(f"{document.name}: {parsed.stderr.strip()} in\n{script}")
    session = botocore.session.get_session()
    for service, operation, rest in commands(text):
        if (service, operation) in CLI_ONLY:
            continue
        try:
            model = session.get_service_model(service)
        except UnknownServiceError:
            faults.append(f"{document.name}: aws has no service {service}")
            continue
        names = {xform_name(name, "-"): name for name in model.operation_names}
        if operation not in names:
            faults.append(f"{document.name}: aws {service} has no {operation}")
            continue
        shape = model.operation_model(names[operation]).input_shape
        options = {xform_name(name, "-") for name in (shape.members if shape else {})} | CLI_OPTIONS
        options |= CLI_NAMES.get((service, operation), set())
        spoken = re.findall(r"--([a-z0-9-]+)", rest)
        for option in spoken:
            if option not in options and option.removeprefix("no-") not in options:
                faults.append(f"{document.name}: aws {service} {operation} has no --{option}")
        required = {xform_name(name, "-") for name in (shape.required_members if shape else [])} - {"outfile"}
        # Where it is only named, it need not be whole.
        for option in sorted(required - set(spoken)) if spoken else []:
            faults.append(f"{document.name}: aws {service} {operation} needs --{option}")
    return faults


def wrong_queries() -> list[str]:
    """Queries of the runbook for lines that no code logs."""
    source, faults = code(), []
    for line in OPERATE.read_text().splitlines():
        if not line.strip().startswith("query "):
            continue
        if re.search(r"(?<!@)\bmessage (like|=|in)\b", line):
            faults.append(f"operate.md: searches by a sentence, which may change; search by event: {line.strip()}")
        events = re.findall(r'\bevent = "([^"]*)"', line)
        for several in re.findall(r"\bevent in \[([^]]*)\]", line):
            events += re.findall(r'"([^"]*)"', several)
        faults += [f"operate.md: no code logs the event {event}" for event in events if f'event = "{event}"' not in source]
    return faults


def wrong_exports(template: dict) -> list[str]:
    named = re.findall(r"^ +\[(\w+)\]=", STACK_ENV.read_text(), re.MULTILINE)
    return [f"{STACK_ENV.name}: there is no output {name}" for name in named if name not in template["Outputs"]]


def check(template: dict, expanded: dict) -> list[str]:
    faults = [fault for document in DOCUMENTS for fault in wrong_commands(document)]
    faults += wrong_exports(template) + wrong_logs(expanded) + wrong_filters(template, expanded)
    faults += wrong_alarms(expanded) + unwatched(expanded) + wrong_dashboard(expanded) + wrong_queries()
    count = len(of_type(expanded, "AWS::CloudWatch::Alarm"))
    print(f"    {count} alarms, {len(own_metrics(expanded))} metrics of our own, {len(widgets(expanded))} charts")
    return faults
