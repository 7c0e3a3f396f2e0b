"""Runs a composite action of GitHub as its runner does: expressions, conditions, environment files, workflow
commands. It has what action.yml uses and refuses the rest."""

import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import yaml

STEP_LIMIT_S = 170
NAME = re.compile(r"\b(inputs|github|strategy|steps)\.([\w-]+)(?:\.outputs\.([\w-]+))?")
FUNCTIONS = re.compile(r"\b(always|cancelled|success|failure)\(\)")
EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}")


def stop(process):
    """Ends a step as the runner of a cancelled workflow does: SIGINT, SIGTERM after 7.5 s, SIGKILL after 2.5 s more."""
    for signal_sent, wait_s in ((signal.SIGINT, 7.5), (signal.SIGTERM, 2.5), (signal.SIGKILL, 0)):
        os.killpg(process.pid, signal_sent)
        try:
            process.wait(wait_s)
            return
        except subprocess.TimeoutExpired:
            continue


class Composite:
    """One use of an action in a job, with its outputs, summary and log after `run`."""

    def __init__(self, folder, inputs, github):
        self.folder = folder
        self.action = yaml.safe_load((folder / "action.yml").read_text())
        self.github = github
        self.state, self.steps, self.summary, self.log, self.ran = "success", {}, "", "", []
        unknown = set(inputs) - set(self.action["inputs"])
        assert not unknown, unknown
        self.inputs = {}
        for name, declared in self.action["inputs"].items():
            assert name in inputs or not declared.get("required"), f"{name} is required"
            self.inputs[name] = str(inputs.get(name, self.fill(declared.get("default", ""))))

    def value(self, expression):
        """An expression's value; names, strings, ==, !=, &&, || and the functions of states."""
        def name(match):
            kind, first, second = match.groups()
            if kind == "steps":
                return repr(self.steps.get(first, {}).get(second, ""))
            table = {"inputs": self.inputs if hasattr(self, "inputs") else {}, "github": self.github,
                     "strategy": {"job-index": "0"}}[kind]
            return repr(table[first])
        states = {"always": True, "cancelled": self.state == "cancelled", "success": self.state == "success",
                  "failure": self.state == "failure"}
        text = FUNCTIONS.sub(lambda match: repr(states[match[1]]), NAME.sub(name, expression))
        text = text.replace("&&", " and ").replace("||", " or ")
        return eval(text, {"__builtins__": {}})  # of the repository's own action.yml

    def fill(self, text):
        return EXPRESSION.sub(lambda match: str(self.value(match[1].strip())), str(text))

    def run(self, cancel_in=None):
        """Runs the steps in order. `cancel_in` names the step in which the workflow is cancelled after a while."""
        with tempfile.TemporaryDirectory(prefix="awo-composite.") as work:
            for step in self.action["runs"]["steps"]:
                assert set(step) <= {"id", "if", "shell", "run", "env"} and step["shell"] == "bash", step
                condition = step.get("if", "success()")
                if not FUNCTIONS.search(condition):
                    condition = f"success() && ({condition})"
                if self.value(condition):
                    self.step(step, Path(work), step["id"] == cancel_in)
        return self

    def step(self, step, work, cancelled):
        files = {name: work / f"{step['id']}-{name}" for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        for file in files.values():
            file.touch()
        environment = {"PATH": os.environ["PATH"], "HOME": str(work), "GITHUB_ACTION_PATH": str(self.folder),
                       **{f"GITHUB_{name.upper()}": value for name, value in self.github.items()},
                       **{name: str(file) for name, file in files.items()},
                       **{name: self.fill(value) for name, value in step.get("env", {}).items()}}
        script = work / "step.sh"
        script.write_text(self.fill(step["run"]))
        process = subprocess.Popen(["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)], env=environment,
                                   cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   start_new_session=True)
        if cancelled:
            time.sleep(2)
            stop(process)
        log, _ = process.communicate(timeout=STEP_LIMIT_S)
        self.ran.append(step["id"])
        self.log += log
        self.summary += files["GITHUB_STEP_SUMMARY"].read_text()
        outputs = {}
        for line in files["GITHUB_OUTPUT"].read_text().splitlines():
            name, equals, value = line.partition("=")
            assert equals, f"no output: {line}"
            outputs[name] = value
        self.steps[step["id"]] = outputs
        if cancelled:
            self.state = "cancelled"
        elif process.returncode != 0 and self.state == "success":
            self.state = "failure"

    @property
    def outputs(self):
        return {name: self.fill(output["value"]) for name, output in self.action["outputs"].items()}
