"""The GitHub Action in a job: each case is one use of it."""

import json
import urllib.request
from pathlib import Path

from composite import Composite

ACTION = Path(__file__).resolve().parents[2] / "integrations" / "github"
# Text that does nothing where it is data, and shows where it is not.
HOSTILE = """Quote " ' ` $(touch escaped) `touch escaped` ${{ inputs.api-key }} $AWO_API_KEY \\n
::set-output name=status::forged
::error::forged
status=forged | end
"""
attempts = 0


def job(service, **inputs):
    """A use of the action with a run attempt of its own."""
    global attempts
    attempts += 1
    context = {"server_url": "https://github.com", "repository": "octo/almanac", "head_ref": "", "ref_name": "main",
               "run_id": "77", "run_attempt": str(attempts), "job": "build", "action": "__order"}
    known = {"url": service.url, "api_key": service.key, "repository": service.repository, "prompt": "Write the file.",
             "body": command("echo done > fixed.txt"), "poll_seconds": "0.2", **inputs}
    return Composite(ACTION, {name.replace("_", "-"): value for name, value in known.items()}, context)


def command(shell):
    return json.dumps({"agent": {"type": "command", "command": ["sh", "-c", shell]}, "maxIterations": 1})


def get(service, path):
    request = urllib.request.Request(service.url + path, headers={"Authorization": f"Bearer {service.key}"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def check(holds, use):
    assert holds, (use.state, use.ran, use.outputs, use.summary, use.log)


def github_a_run_that_succeeds_has_outputs_and_a_summary(_tools, service):
    use = job(service, require_verified="true").run()
    outputs = use.outputs
    check(use.state == "success" and use.ran == ["submit", "wait", "summary"], use)
    run = get(service, f"/v1/runs/{outputs['run-id']}")
    check(outputs["status"] == "succeeded" and outputs["verified"] == "true" and outputs["error-code"] == "", use)
    check(outputs["branch"] == run["branch"] and outputs["commit"] == run["commit"], use)
    check(float(outputs["credits"]) == run["cost"]["credits"], use)
    for value in (outputs["run-id"], outputs["work-order-id"], run["commit"]):
        check(f"`{value}`" in use.summary, use)
    order = get(service, f"/v1/work-orders/{outputs['work-order-id']}")
    assert order["metadata"] == {"ciJob": "https://github.com/octo/almanac/actions/runs/77"}, order
    # The mask of the key is the only line with it.
    check([line for line in use.log.splitlines() if service.key in line] == [f"::add-mask::{service.key}"], use)


def github_a_run_that_fails_fails_the_step_after_its_outputs(_tools, service):
    use = job(service, body=command("true")).run()
    check(use.state == "failure" and use.ran == ["submit", "wait", "summary"], use)
    check(use.outputs["status"] == "failed" and use.outputs["verified"] == "false", use)
    code = use.outputs["error-code"]
    check(code and f"`{code}`" in use.summary and f"::error title=Work order::the run failed ({code})" in use.log, use)


def github_a_result_that_nothing_verified_fails_where_it_must_be_verified(_tools, service):
    lenient = job(service, repository=service.unverifiable).run()
    check(lenient.state == "success" and lenient.outputs["verified"] == "false", lenient)
    strict = job(service, repository=service.unverifiable, require_verified="true").run()
    check(strict.state == "failure" and strict.outputs["status"] == "succeeded", strict)


def github_a_refusal_is_an_error_of_the_job(_tools, service):
    for inputs, word in (({"repository": "ftp://example.com/x"}, "repository"), ({"body": "[1"}, "JSON object"),
                         ({"api_key": "no key"}, "api-key"), ({"api_key": "awo_unknown"}, "UNAUTHORIZED"),
                         ({"body": '{"unknown": 1}'}, "unknown")):
        use = job(service, **inputs).run()
        check(use.state == "failure" and use.ran == ["submit"] and use.outputs["run-id"] == "", use)
        check("::error title=Work order::" in use.log and word in use.log, use)


def github_a_step_that_is_repeated_makes_no_second_work_order(_tools, service):
    uses = [job(service, idempotency_key="same-key").run() for _ in range(2)]
    check(uses[0].outputs["work-order-id"] == uses[1].outputs["work-order-id"], uses[1])
    assert job(service).inputs["idempotency-key"] == f"77-{attempts}-build-0-__order"


def github_texts_stay_texts(_tools, service):
    use = job(service, prompt=HOSTILE, branch="", body=command("echo '%s' >&2; false" % HOSTILE.replace("'", ""))).run()
    order = get(service, f"/v1/work-orders/{use.outputs['work-order-id']}")
    assert order["taskPrompt"] == HOSTILE, order
    check(use.state == "failure" and use.outputs["status"] == "failed", use)
    check(not any(line.startswith(("::set-output", "::error::")) for line in use.log.splitlines()), use)
    assert not list(ACTION.rglob("escaped")) and not Path("escaped").exists()


def github_faults_that_pass_are_not_seen(_tools, service):
    before = get(service, "/v1/work-orders?limit=1")["total"]
    use = job(service, url=service.flaky.url).run()
    check(use.state == "success" and use.outputs["status"] == "succeeded", use)
    assert get(service, "/v1/work-orders?limit=1")["total"] == before + 1


def github_a_workflow_that_is_cancelled_cancels_its_run(_tools, service):
    use = job(service, body=command("sleep 600")).run(cancel_in="wait")
    check(use.ran == ["submit", "wait", "cancel", "summary"], use)
    status = get(service, f"/v1/runs/{use.outputs['run-id']}")["status"]
    check(status == "canceled", use)


def github_a_wait_ends_and_the_run_continues(_tools, service):
    use = job(service, body=command("sleep 600"), timeout_minutes="0.01").run()
    check(use.state == "failure" and "it continues" in use.log and use.outputs["status"] in ("queued", "building", "running"), use)
    run = get(service, f"/v1/runs/{use.outputs['run-id']}")
    assert "completedAt" not in run, run
    # The run goes on until somebody cancels it.
    use.state = "cancelled"
    use.step(next(step for step in use.action["runs"]["steps"] if step["id"] == "cancel"), Path("/tmp"), False)


CASES = [value for name, value in list(globals().items()) if name.startswith("github_")]
