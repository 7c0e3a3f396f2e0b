"""`make check-restore`: tries `make restore` on a stand-in for DynamoDB.

`infra/restore.sh` runs as it is. The stand-in answers as `aws dynamodb` does, with the rules that make a restore
laborious: a restored table has another name, and neither expiry nor recovery, protection or tags; a name is free only
when its table is gone; a protected table is not deleted; changes take a while, and refuse others meanwhile. It also loses
the response of any call, after which the same command is run again.
"""

from __future__ import annotations

import copy
import json
import os
import re
import socketserver
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import jmespath

from expansion import load, of_type

ROOT = Path(__file__).resolve().parents[2]
# Before the damage, after it, and before there were backups.
THEN, LATER, EARLIER = "2026-11-20T08:00:00Z", "2026-11-25T08:00:00Z", "2026-10-01T08:00:00Z"
WINDOW = ["2026-10-20T00:00:00+00:00", "2026-11-24T12:00:00.123000+00:00"]
GOOD, DAMAGED = {"state": "good"}, {"state": "damaged"}
TAGS = [{"Key": "team", "Value": "a b"}, {"Key": "aws:cloudformation:stack-name", "Value": "awo"}]
# Descriptions for which a change lasts.
SLOW = 2
AWS = """#!/usr/bin/env bash
exec 3<>"/dev/tcp/127.0.0.1/$AWS_PORT"
printf '%s\\n' "$#" >&3
printf '%s\\0' "$@" >&3
IFS= read -r code <&3
if [ "$code" = 0 ]; then cat <&3; else cat <&3 >&2; fi
exit "$code"
"""
CHANGES = {
    "restore-table-to-point-in-time",
    "restore-table-from-backup",
    "create-backup",
    "delete-table",
    "update-table",
    "update-time-to-live",
    "update-continuous-backups",
    "tag-resource",
}


class RefusedError(Exception):
    """An error of DynamoDB."""


def option(arguments: list[str], name: str) -> str:
    if f"--{name}" not in arguments:
        raise RefusedError(f"--{name} is required")
    return arguments[arguments.index(f"--{name}") + 1]


class DynamoDb:
    """Tables and backups of a stack."""

    def __init__(self, shapes: dict[str, dict]) -> None:
        self.tables = {f"awo-{name}-X": self.table(f"awo-{name}-X", shape) for name, shape in shapes.items()}
        self.outputs = {name: f"awo-{name}-X" for name in shapes}
        self.backups: dict[str, dict] = {}
        self.changes = 0
        # The change whose response is lost.
        self.loses: int | None = None

    @staticmethod
    def table(name: str, shape: dict) -> dict:
        expiry = shape.get("TimeToLiveSpecification", {}).get("AttributeName")
        return {
            "arn": f"arn:aws:dynamodb:eu-central-1:123456789012:table/{name}",
            "shape": {key: shape[key] for key in ("KeySchema", "GlobalSecondaryIndexes") if key in shape},
            "items": DAMAGED,
            "status": ["ACTIVE"],
            "expiry": expiry,
            "recovery": True,
            "protected": True,
            "tags": copy.deepcopy(TAGS),
        }

    def status(self, name: str) -> str:
        """Of a table; each look brings it closer to the end of a change."""
        if name not in self.tables:
            raise RefusedError("ResourceNotFoundException")
        states = self.tables[name]["status"]
        now = states.pop(0) if len(states) > 1 else states[0]
        if now == "GONE":
            del self.tables[name]
            raise RefusedError("ResourceNotFoundException")
        return now

    def active(self, name: str) -> dict:
        table = self.tables.get(name)
        if table is None:
            raise RefusedError("ResourceNotFoundException")
        if table["status"][0] != "ACTIVE":
            raise RefusedError(f"ResourceInUseException: {name} is {table['status'][0]}")
        return table

    def restored(self, name: str, like: dict, items: dict) -> dict:
        if name in self.tables:
            raise RefusedError(f"TableAlreadyExistsException: {name}")
        self.tables[name] = {
            "arn": f"arn:aws:dynamodb:eu-central-1:123456789012:table/{name}",
            "shape": copy.deepcopy(like["shape"]),
            "items": items,
            "status": ["CREATING"] * SLOW + ["ACTIVE"],
            "expiry": None,
            "recovery": False,
            "protected": False,
            "tags": [],
        }
        return {}

    def call(self, operation: str, arguments: list[str]) -> dict:
        answer = getattr(self, operation.replace("-", "_"))(arguments)
        if operation in CHANGES:
            self.changes += 1
            if self.changes == self.loses:
                raise RefusedError("the connection was closed")
        return answer or {}

    def describe_table(self, arguments: list[str]) -> dict:
        name = option(arguments, "table-name")
        status = self.status(name)
        table = self.tables[name]
        return {
            "Table": {"TableStatus": status, "DeletionProtectionEnabled": table["protected"], "TableArn": table["arn"]}
        }

    def describe_continuous_backups(self, arguments: list[str]) -> dict:
        recovery = self.active(option(arguments, "table-name"))["recovery"]
        point = {"PointInTimeRecoveryStatus": "ENABLED" if recovery else "DISABLED"}
        if recovery:
            point |= {"EarliestRestorableDateTime": WINDOW[0], "LatestRestorableDateTime": WINDOW[1]}
        return {"ContinuousBackupsDescription": {"PointInTimeRecoveryDescription": point}}

    def describe_time_to_live(self, arguments: list[str]) -> dict:
        expiry = self.active(option(arguments, "table-name"))["expiry"]
        return {"TimeToLiveDescription": {"AttributeName": expiry} if expiry else {}}

    def list_tags_of_resource(self, arguments: list[str]) -> dict:
        arn = option(arguments, "resource-arn")
        return {"Tags": self.active(arn.split("/")[-1])["tags"]}

    def list_backups(self, arguments: list[str]) -> dict:
        name = option(arguments, "table-name")
        return {"BackupSummaries": [backup for backup in self.backups.values() if backup["TableName"] == name]}

    def create_backup(self, arguments: list[str]) -> dict:
        name = option(arguments, "table-name")
        table = self.active(name)
        arn = f"{table['arn']}/backup/{len(self.backups)}"
        self.backups[arn] = {
            "BackupArn": arn,
            "BackupName": option(arguments, "backup-name"),
            "BackupStatus": "CREATING",
            "TableName": name,
            "table": copy.deepcopy(table),
        }
        return {"BackupDetails": {"BackupArn": arn}}

    def describe_backup(self, arguments: list[str]) -> dict:
        backup = self.backups[option(arguments, "backup-arn")]
        before, backup["BackupStatus"] = backup["BackupStatus"], "AVAILABLE"
        return {"BackupDescription": {"BackupDetails": {"BackupStatus": before}}}

    def restore_table_to_point_in_time(self, arguments: list[str]) -> dict:
        source = self.active(option(arguments, "source-table-name"))
        then = option(arguments, "restore-date-time")
        if not source["recovery"] or not WINDOW[0][:19] <= then[:19] <= WINDOW[1][:19]:
            raise RefusedError("InvalidRestoreTimeException")
        return self.restored(option(arguments, "target-table-name"), source, GOOD)

    def restore_table_from_backup(self, arguments: list[str]) -> dict:
        backup = self.backups.get(option(arguments, "backup-arn"))
        if backup is None or backup["BackupStatus"] != "AVAILABLE":
            raise RefusedError("BackupNotFoundException")
        return self.restored(option(arguments, "target-table-name"), backup["table"], backup["table"]["items"])

    def update_table(self, arguments: list[str]) -> None:
        table = self.active(option(arguments, "table-name"))
        table["protected"] = "--deletion-protection-enabled" in arguments
        if table["protected"] == ("--no-deletion-protection-enabled" in arguments):
            raise RefusedError("ValidationException: nothing is to be changed")
        table["status"] = ["UPDATING", "ACTIVE"]

    def delete_table(self, arguments: list[str]) -> None:
        table = self.active(option(arguments, "table-name"))
        if table["protected"]:
            raise RefusedError("ValidationException: Resource cannot be deleted as it is currently protected")
        table["status"] = ["DELETING"] * SLOW + ["GONE"]

    def update_time_to_live(self, arguments: list[str]) -> None:
        table = self.active(option(arguments, "table-name"))
        if table["expiry"]:
            raise RefusedError("ValidationException: TimeToLive is already enabled")
        table["expiry"] = re.fullmatch("Enabled=true,AttributeName=(.+)", option(arguments, "time-to-live-specification"))[1]

    def update_continuous_backups(self, arguments: list[str]) -> None:
        wanted = option(arguments, "point-in-time-recovery-specification")
        self.active(option(arguments, "table-name"))["recovery"] = wanted == "PointInTimeRecoveryEnabled=true"

    def tag_resource(self, arguments: list[str]) -> None:
        tags = json.loads(option(arguments, "tags"))
        if any(tag["Key"].startswith("aws:") for tag in tags):
            raise RefusedError("ValidationException: tags that begin with aws: are AWS's own")
        table = self.active(option(arguments, "resource-arn").split("/")[-1])
        table["tags"] = [tag for tag in table["tags"] if tag["Key"] not in {new["Key"] for new in tags}] + tags

    def stacks(self) -> dict:
        outputs = [{"OutputKey": key, "OutputValue": value} for key, value in self.outputs.items()]
        return {"Stacks": [{"Outputs": outputs}]}


def rendered(found: object, arguments: list[str]) -> str:
    """As the command line prints it."""
    if option(arguments, "output") == "json":
        return json.dumps(found, indent=4)
    return "\t".join("None" if part is None else str(part) for part in (found if isinstance(found, list) else [found]))


class Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        count = int(self.rfile.readline())
        arguments, text = [], b""
        while len(arguments) < count:
            byte = self.rfile.read(1)
            if byte == b"\0":
                arguments.append(text.decode())
                text = b""
            else:
                text += byte
        code, answer = self.server.answer(arguments)
        self.wfile.write(f"{code}\n{answer}\n".encode())


class StandIn(socketserver.TCPServer):
    allow_reuse_address = True

    def __init__(self, tables: DynamoDb) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.tables = tables

    def answer(self, arguments: list[str]) -> tuple[int, str]:
        try:
            if arguments[:2] == ["cloudformation", "describe-stacks"]:
                answer = self.tables.stacks()
            elif arguments[0] == "dynamodb":
                answer = self.tables.call(arguments[1], arguments)
            else:
                raise RefusedError(f"{arguments} is not expected")
            if "--query" not in arguments:
                return 0, ""
            return 0, rendered(jmespath.search(option(arguments, "query"), answer), arguments)
        except RefusedError as error:
            return 254, str(error)


def restore(tables: DynamoDb, scratch: Path, moment: str, names: str = "") -> tuple[bool, str]:
    """One call of `make restore`."""
    program = scratch / "bin/aws"
    program.parent.mkdir(exist_ok=True)
    program.write_text(AWS)
    program.chmod(0o755)
    with StandIn(tables) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        environment = {
            "PATH": f"{program.parent}:{os.environ['PATH']}",
            "AWS_PORT": str(server.server_address[1]),
            "STACK": "awo",
            "AT": moment,
            "TABLES": names,
            "YES": "1",
            "PAUSE_SECONDS": "0",
        }
        command = ["bash", str(ROOT / "infra/restore.sh")]
        done = subprocess.run(command, cwd=scratch, env=environment, capture_output=True, text=True, timeout=60)
        server.shutdown()
    return done.returncode == 0, done.stdout + done.stderr


def differences(tables: DynamoDb, shapes: dict[str, dict], restored: set[str]) -> list[str]:
    """Of what is there from what should be."""
    faults = []
    wanted = DynamoDb(shapes).tables
    for name, table in wanted.items():
        if name in restored:
            table |= {"items": GOOD, "tags": [tag for tag in TAGS if not tag["Key"].startswith("aws:")]}
        found = copy.deepcopy(tables.tables.get(name, {}))
        found["status"] = table["status"] = None
        faults += [f"{name}: {key} is {found.get(key)}" for key in table if found.get(key) != table[key]]
    gone = {name for name, table in tables.tables.items() if table["status"][-1] == "GONE"}
    faults += [f"{name}: is left over" for name in set(tables.tables) - set(wanted) - gone]
    kept = {(backup["TableName"], backup["table"]["items"]["state"]) for backup in tables.backups.values()}
    return faults + [f"{name}: what was damaged is lost" for name in restored if (name, "damaged") not in kept]


def check() -> list[str]:
    faults = []
    shapes = of_type(load(), "AWS::DynamoDB::Table")

    def tried(what: str, moment: str = THEN, names: str = "", loses: int | None = None) -> tuple[bool, str, DynamoDb]:
        with tempfile.TemporaryDirectory() as folder:
            tables = DynamoDb(shapes)
            tables.loses = loses
            well, output = restore(tables, Path(folder), moment, names)
            if loses is not None and tables.changes >= loses:
                if well:
                    faults.append(f"{what}: goes on as if nothing had happened")
                well, output = restore(tables, Path(folder), moment, names)
            return well, output, tables

    well, output, tables = tried("all four")
    faults += [f"all four: {fault}" for fault in differences(tables, shapes, set(tables.outputs.values()))]
    if not well:
        return [*faults, f"all four: {output}"]
    changes = 0
    for nth in range(1, 100):
        what = f"WorkTable, without the response of change {nth}"
        well, output, tables = tried(what, names="WorkTable", loses=nth)
        wrong = differences(tables, shapes, {"awo-WorkTable-X"})
        faults += [f"{what}: {fault}" for fault in wrong] + ([] if well else [f"{what}: {output}"])
        if tables.changes < nth:
            break
        changes = nth
    for moment, word in ((LATER, "can be restored"), (EARLIER, "can be restored"), ("yesterday", "AT is the moment")):
        well, output, tables = tried(moment, moment)
        if well or word not in output or tables.changes:
            faults.append(f"to {moment}: {output}")
    well, output, tables = tried("an unknown table", names="NoTable")
    if well or "no output NoTable" not in output:
        faults.append(f"an unknown table: {output}")
    print(f"    four tables restored under their names; one without the response of each of {changes} changes")
    return faults


if __name__ == "__main__":
    found = check()
    print("\n".join(found) or "sound")
    sys.exit(1 if found else 0)
