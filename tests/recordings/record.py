#!/usr/bin/env python3
"""Records outputs of real test runners, and of programs that are not there, for the tests of the parsers in
functions/runner/src/toolchains/. Every project of a recording stands in this folder's modules.

    tests/recordings/record.py PREFIX             # record everything
    tests/recordings/record.py PREFIX 'pytest-'   # files whose name matches the pattern

PREFIX is a folder that install.sh filled with the runners. A recording has the bytes of standard output and
standard error as one pipe gets them, with the paths of the machine replaced by /w. The index has the true
counts: they are declared beside the project that has these tests, and are not read from the output.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECORDINGS = ROOT / "functions" / "runner" / "src" / "toolchains" / "recordings"
MAX_BYTES = 8192
LIMIT_S = 300
HEADER = """\
# Outputs of test runners, written by tests/recordings/record.py: edit the projects there, not this file.
#
# source    "program": recorded from the program; "documentation": written after its public documentation
# exit      exit code
# passed, failed, skipped
#           number of tests; a file that cannot be loaded is a failed test only where the runner counts it as one;
#           skipped ones are pending and todo ones, too
# hidden    those counts that the output does not show
# failed_names
#           the failing tests, as a maintainer names them
# none_ran  true if no test ran
# missing   program that was not found, "" if none is missing; such a row has no counts
"""


class Case:
    """One recording: the project's files, the command, and what is true of it."""

    def __init__(self, folder, name, version, files, command, counts=(0, 0, 0), names=(), missing=None,
                 text=None, code=None, env=None, hidden=()):
        self.file = f"{folder}/{name}.txt"
        self.runner = name.split("-")[0] if missing is None else name
        self.version, self.files, self.command = version, files, command
        self.counts, self.names, self.missing, self.hidden = counts, list(names), missing, list(hidden)
        # Only of a recording after documentation: its text and its exit code.
        self.text, self.code, self.env = text, code, env or {}

    def recorded(self, machine):
        if self.text is not None:
            return self.code, self.text.encode()
        return machine.run(self)

    def row(self, code, version):
        row = {"file": self.file, "runner": self.runner, "version": version,
               "source": "program" if self.text is None else "documentation", "exit": code}
        if self.missing is not None:
            return row | {"missing": self.missing}
        passed, failed, skipped = self.counts
        hidden = {"hidden": self.hidden} if self.hidden else {}
        return row | {"passed": passed, "failed": failed, "skipped": skipped, **hidden,
                      "failed_names": self.names, "none_ran": passed + failed == 0}


class Machine:
    """The runners of PREFIX, and a folder in which projects are laid out."""

    def __init__(self, prefix):
        self.prefix = Path(prefix).resolve()
        self.work = self.prefix / "work"
        self.versions = {}
        # A path of an output is a folder of the prefix, or of its environments.
        self.paths = [str(self.work / "project"), str(self.work), "/tmp/awo-recordings", str(self.prefix), str(Path.home())]
        cargo_home = os.environ.get("CARGO_HOME", str(Path.home() / ".cargo"))
        self.env = {
            "PATH": f"{self.prefix}/bin:{cargo_home}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(self.prefix / "home"), "LANG": "C.UTF-8", "CI": "true", "P": str(self.prefix),
            "V": str(self.prefix / "venv" / "bin"), "N": str(self.prefix / "npm" / "node_modules" / ".bin"),
            "CARGO_HOME": cargo_home,
            "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup")),
            "CARGO_NET_OFFLINE": "true", "GOFLAGS": "-mod=mod", "GOPROXY": "off", "NX_DAEMON": "false",
            "TURBO_TELEMETRY_DISABLED": "1", "DO_NOT_TRACK": "1", "NO_UPDATE_NOTIFIER": "1",
            "DENO_NO_UPDATE_CHECK": "1", "npm_config_update_notifier": "false", "npm_config_offline": "true", "npm_config_registry": "http://127.0.0.1:9/",
            "PYTHONDONTWRITEBYTECODE": "1", "MIX_ENV": "test", "COREPACK_ENABLE_NETWORK": "0",
            "YARN_ENABLE_TELEMETRY": "0", "YARN_ENABLE_IMMUTABLE_INSTALLS": "0", "YARN_ENABLE_NETWORK": "0", "PIP_NO_INDEX": "1",
        }
        (self.prefix / "home").mkdir(parents=True, exist_ok=True)

    def lay_out(self, files):
        project = self.work / "project"
        shutil.rmtree(project, ignore_errors=True)
        project.mkdir(parents=True)
        for name, text in files.items():
            path = project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                path.symlink_to(self.prefix / "npm" / "node_modules")
            else:
                path.write_text(text)
                path.chmod(0o755 if text.startswith("#!") else 0o644)
        return project

    def shell(self, command, project, env):
        # In a session of its own, without a terminal that a runner could ask.
        with subprocess.Popen(["bash", "-c", command], cwd=project, env=self.env | env, start_new_session=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as shell:
            output, _ = shell.communicate(timeout=LIMIT_S)
        return shell.returncode, output

    def run(self, case):
        project = self.lay_out(case.files)
        commands = [case.command] if isinstance(case.command, str) else case.command
        # All but the last prepare, as a build does.
        for command in commands[:-1]:
            code, output = self.shell(command, project, case.env)
            if code:
                sys.exit(f"{case.file}: {command} exited with {code}:\n{output.decode()}")
        code, output = self.shell(commands[-1], project, case.env)
        for path in self.paths:
            output = output.replace(path.encode(), b"/w").replace(path[1:].encode(), b"w")
        # The one address of a registry that a program shows without being configured to.
        output = re.sub(rb"https://repo\.maven\.[a-z.]+", b"https://maven.example", output)
        return code, output

    def version(self, command):
        if command not in self.versions:
            output = self.shell(command, self.lay_out({}), {})[1].decode()
            numbers = re.search(r"\d+(\.\d+)+", output)
            self.versions[command] = numbers.group() if numbers else output.strip()
        return self.versions[command]


def lines_toml(row):
    # A JSON string, number, boolean or list of strings is TOML, too.
    return "[[recording]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in row.items())


def write_index(rows, cases):
    ordered = [rows[case.file] for case in cases if case.file in rows]
    (RECORDINGS / "index.toml").write_text(HEADER + "".join("\n" + lines_toml(row) for row in ordered))


def all_cases():
    sys.path.insert(0, str(Path(__file__).parent))
    modules = ["python", "node", "node_more", "rust_go", "java", "c", "others", "wrappers", "missing", "documented",
               "documented_more"]
    cases = []
    for name in modules:
        path = Path(__file__).parent / f"cases_{name}.py"
        if path.exists():
            cases += __import__(path.stem).cases()
    files = [case.file for case in cases]
    duplicates = {file for file in files if files.count(file) > 1}
    if duplicates:
        sys.exit(f"recorded twice: {duplicates}")
    return cases


def main():
    prefix, *pattern = sys.argv[1:]
    machine = Machine(prefix)
    cases = all_cases()
    index = RECORDINGS / "index.toml"
    rows = {}
    if index.exists():
        rows = {row["file"]: row for row in tomllib.loads(index.read_text()).get("recording", [])}
    failures = []
    for case in cases:
        if pattern and not re.search(pattern[0], case.file):
            continue
        code, output = case.recorded(machine)
        if code == 127 and case.missing is None:
            sys.exit(f"{case.file}: {output.decode()}")
        if len(output) > MAX_BYTES:
            failures.append(f"{case.file} has {len(output)} bytes")
        path = RECORDINGS / case.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(output)
        version = case.version if case.text is not None else machine.version(case.version)
        rows[case.file] = case.row(code, version)
        write_index(rows, cases)
        print(case.file, code, len(output), flush=True)
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    main()
