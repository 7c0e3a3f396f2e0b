"""The GitLab component as jobs: its inputs filled in, its scripts run by sh as GitLab's runner does."""

import os
import re
import subprocess
import tempfile
from pathlib import Path

import yaml

from github import HOSTILE, command, get

TEMPLATE = Path(__file__).resolve().parents[2] / "integrations" / "gitlab" / "templates" / "work-order.yml"
INPUT = re.compile(r"\$\[\[ inputs\.([\w-]+) \]\]")
VARIABLE = re.compile(r"\$(\w+)")
jobs = 0


def documents():
    """The specification and the jobs, each a document of its own."""
    return TEMPLATE.read_text().split("\n---\n")


def scripts():
    (job,) = yaml.safe_load(documents()[1]).values()
    return [*job["before_script"], *job["script"], *job["after_script"]]


class Job:
    """One job of the component, with its exit code, log and dotenv report after `run`."""

    def __init__(self, service, **inputs):
        global jobs
        jobs += 1
        declared = yaml.safe_load(documents()[0])["spec"]["inputs"]
        known = {"url": service.url, "prompt": "Write the file.", "repository": service.repository, "branch": "main",
                 "body": command("echo done > fixed.txt"), **inputs}
        self.inputs = {name.replace("_", "-"): value for name, value in known.items()}
        assert set(self.inputs) <= set(declared), self.inputs
        for name in set(declared) - set(self.inputs):
            self.inputs[name] = declared[name]["default"]
        (self.job,) = self.fill(yaml.safe_load(documents()[1])).values()
        self.own = {"CI_JOB_ID": str(jobs), "CI_JOB_URL": "https://gitlab.com/a/b/-/jobs/1", "CI_PROJECT_URL": "none",
                    "CI_COMMIT_REF_NAME": "main", "AWO_API_KEY": service.key, "AWO_POLL_SECONDS": "0.2"}

    def fill(self, value):
        """Interpolates inputs in the values of a tree, as GitLab does, never in the text of the file."""
        if isinstance(value, dict):
            return {self.fill(name): self.fill(entry) for name, entry in value.items()}
        if isinstance(value, list):
            return [self.fill(entry) for entry in value]
        if isinstance(value, str):
            return INPUT.sub(lambda match: str(self.inputs[match[1]]).lower() if isinstance(self.inputs[match[1]], bool)
                             else str(self.inputs[match[1]]), value)
        return value

    def environment(self):
        environment = {"PATH": os.environ["PATH"], **self.own}
        for name, entry in self.job["variables"].items():
            expands = not isinstance(entry, dict)
            text = entry if expands else entry["value"]
            assert expands or entry["expand"] is False, entry
            environment[name] = VARIABLE.sub(lambda match: self.own.get(match[1], ""), text) if expands else text
        return environment

    def run(self, cancel_after=None):
        with tempfile.TemporaryDirectory(prefix="awo-gitlab.") as work:
            script = "set -e\n" + "\n".join([*self.job["before_script"], *self.job["script"]])
            process = subprocess.Popen(["sh", "-c", script], env=self.environment(), cwd=work, text=True,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            try:
                self.log, _ = process.communicate(timeout=cancel_after or 170)
            except subprocess.TimeoutExpired:
                assert cancel_after
                process.kill()
                self.log, _ = process.communicate()
            self.code = process.returncode
            status = "canceled" if cancel_after else "success" if self.code == 0 else "failed"
            subprocess.run(["sh", "-c", "\n".join(self.job["after_script"])], cwd=work, check=True, timeout=60,
                           env={**self.environment(), "CI_JOB_STATUS": status})
            report = Path(work) / self.job["artifacts"]["reports"]["dotenv"]
            lines = report.read_text().splitlines() if report.exists() else []
            self.report = dict(line.split("=", 1) for line in lines)
            self.files = sorted(path.name for path in Path(work).iterdir())
        return self


def check(holds, job):
    assert holds, (job.code, job.report, job.log)


def gitlab_a_run_that_succeeds_has_a_report(_tools, service):
    job = Job(service, require_verified=True).run()
    run = get(service, f"/v1/runs/{job.report['AWO_RUN']}")
    check(job.code == 0 and job.report["AWO_STATUS"] == "succeeded" and job.report["AWO_VERIFIED"] == "true", job)
    check(job.report["AWO_BRANCH"] == run["branch"] and job.report["AWO_COMMIT"] == run["commit"], job)
    check(float(job.report["AWO_CREDITS"]) == run["cost"]["credits"] and job.report["AWO_ERROR_CODE"] == "", job)
    check(service.key not in job.log and "awo-run.json" in job.files, job)


def gitlab_a_run_that_fails_fails_the_job(_tools, service):
    job = Job(service, body=command("true")).run()
    check(job.code != 0 and job.report["AWO_STATUS"] == "failed" and job.report["AWO_VERIFIED"] == "false", job)
    check(job.report["AWO_ERROR_CODE"] and f"({job.report['AWO_ERROR_CODE']})" in job.log, job)
    strict = Job(service, repository=service.unverifiable, require_verified=True).run()
    check(strict.code != 0 and strict.report["AWO_STATUS"] == "succeeded", strict)


def gitlab_a_refusal_fails_the_job(_tools, service):
    for inputs, word in (({"repository": "ftp://example.com/x"}, "repository"), ({"body": "[1"}, "JSON object")):
        job = Job(service, **inputs).run()
        check(job.code != 0 and word in job.log and job.report == {}, job)


def gitlab_texts_stay_texts(_tools, service):
    job = Job(service, prompt=HOSTILE, body=command("false")).run()
    order = get(service, f"/v1/work-orders/{job.report['AWO_WORK_ORDER']}")
    assert order["taskPrompt"] == HOSTILE, order
    check(job.report["AWO_STATUS"] == "failed" and "escaped" not in job.files, job)


def gitlab_faults_that_pass_are_not_seen(_tools, service):
    # The job has paths of its own: the way fails once for each of them, and for POST once in all.
    service.flaky.answers.clear()
    before = get(service, "/v1/work-orders?limit=1")["total"]
    job = Job(service, url=service.flaky.url).run()
    check(job.code == 0 and job.report["AWO_STATUS"] == "succeeded", job)
    assert get(service, "/v1/work-orders?limit=1")["total"] == before + 1


def gitlab_a_job_that_is_canceled_cancels_its_run(_tools, service):
    job = Job(service, body=command("sleep 600")).run(cancel_after=3)
    check(get(service, f"/v1/runs/{job.report['AWO_RUN']}")["status"] == "canceled", job)


def gitlab_a_wait_ends_and_the_run_continues(_tools, service):
    job = Job(service, body=command("sleep 600"), timeout_minutes=0).run()
    check(job.code != 0 and "it continues" in job.log, job)
    check("completedAt" not in get(service, f"/v1/runs/{job.report['AWO_RUN']}"), job)


CASES = [value for name, value in list(globals().items()) if name.startswith("gitlab_")]
