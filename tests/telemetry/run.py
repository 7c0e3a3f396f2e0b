#!/usr/bin/env python3
"""Sends runs of the service on this machine to a real collector, rotel of PyPI, and reads what it passes on with the
types of OpenTelemetry's own package (opentelemetry-proto).

    tests/telemetry/run.py BIN_DIR TOOLS_DIR    # where `awo-local` and `runner` are; where tools are kept

The way: service, TLS with an authority of the test's own, rotel (OTLP/HTTP, JSON), a sink that takes rotel's Protobuf.
"""

import gzip
import http.client
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "clients"))
TOOLS = ["rotel==0.0.1a15", "opentelemetry-proto==1.45.2"]
WAIT_LIMIT_S = 90
TOKEN = "Bearer of-the-collector"


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=170, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def tools(folder):
    """Starts this script again in a virtual environment with the tools; made once."""
    python, ready = folder / "venv/bin/python", folder / "ready"
    if not ready.exists() or ready.read_text() != "\n".join(TOOLS):
        shutil.rmtree(folder, ignore_errors=True)
        run([sys.executable, "-m", "venv", str(folder / "venv")])
        run([str(folder / "venv/bin/pip"), "install", "--quiet", *TOOLS])
        ready.write_text("\n".join(TOOLS))
    if Path(sys.prefix) != folder / "venv":
        os.execv(python, [str(python), *sys.argv])


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def serve(post, context=None):
    """A server whose POSTs `post` answers with a status and a body."""
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            status, answer = post(self.path, dict(self.headers), body)
            self.send_response(status)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            """Nothing is logged."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def authority(folder):
    """A certificate for 127.0.0.1 that is its own authority."""
    run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=collector",
         "-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE",
         "-keyout", str(folder / "key.pem"), "-out", str(folder / "ca.pem")])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "ca.pem", folder / "key.pem")
    return context, folder / "ca.pem"


class Collector:
    """rotel, with the spans that it passed on."""

    def __init__(self, folder):
        self.spans, self.resources, self.requests = [], [], []
        sink = serve(self.take)
        self.port = free_port()
        self.log = open(folder / "rotel.log", "w", encoding="utf-8")
        program = next(Path(sys.prefix).glob("lib/python*/site-packages/rotel/rotel-agent"))
        program.chmod(0o755)
        self.process = subprocess.Popen(
            [str(program), "start", "--otlp-http-endpoint", f"127.0.0.1:{self.port}",
             "--otlp-grpc-endpoint", f"127.0.0.1:{free_port()}", "--exporter", "otlp",
             "--otlp-exporter-endpoint", f"http://127.0.0.1:{sink}/", "--otlp-exporter-protocol", "http"],
            stdout=self.log, stderr=subprocess.STDOUT, cwd=folder)

    def take(self, _path, headers, body):
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
        text = gzip.decompress(body) if headers.get("content-encoding") == "gzip" else body
        for resource in ExportTraceServiceRequest.FromString(text).resource_spans:
            self.resources.append(resource.resource)
            self.spans.extend(span for scope in resource.scope_spans for span in scope.spans)
        return 200, b""

    def relay(self, path, headers, body):
        """The end of TLS: what a proxy before a collector does, with the check of its credential."""
        lower = {name.lower(): value for name, value in headers.items()}
        self.requests.append((path, lower))
        if lower.get("authorization") != TOKEN:
            return 401, b""
        way = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        way.request("POST", path, body, {"content-type": lower["content-type"]})
        answer = way.getresponse()
        return answer.status, answer.read()

    def trace(self, run_id):
        """The spans of a run, once its root is there."""
        def has_root():
            roots = [span for span in self.spans if span.name == "run" and attributes(span)["awo.run.id"] == run_id]
            return roots and [span for span in self.spans if span.trace_id == roots[0].trace_id]
        return eventually(f"a trace of {run_id}", has_root)


def attributes(of):
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in of.attributes}


def eventually(what, condition):
    began = time.monotonic()
    while not (value := condition()):
        assert time.monotonic() - began < WAIT_LIMIT_S, f"{what} did not come"
        time.sleep(0.1)
    return value


def call(service, method, path, body=None):
    request = urllib.request.Request(
        service.url + path, method=method, data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {service.key}", "Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def order(service, shell):
    body = {"taskPrompt": "Write the file.", "workspaceSource": {"type": "git", "repository": service.repository},
            "agent": {"type": "command", "command": ["sh", "-c", shell]}, "maxIterations": 2}
    made = call(service, "POST", "/v1/work-orders", body)
    return eventually("an end", lambda: (one := call(service, "GET", f"/v1/runs/{made['runId']}")).get("settledAt") and one)


def a_run_that_succeeds_is_a_trace(service, collector):
    read = order(service, "echo done > fixed.txt")
    spans = collector.trace(read["runId"])
    by_name = {span.name: span for span in spans}
    root = by_name["run"]
    facts = attributes(root)
    assert facts["awo.cost.credits"] == read["cost"]["credits"] and facts["awo.run.verified"] is True, facts
    assert root.status.code == root.status.STATUS_CODE_OK and not root.parent_span_id, root
    assert len(root.trace_id) == 16 and all(len(span.span_id) == 8 for span in spans)
    assert len({span.span_id for span in spans}) == len(spans), spans
    parents = {"queue": "run", "prepare": "run", "iteration": "run", "invoke_agent command": "iteration",
               "verify": "iteration", "deliver": "run"}
    for name, parent in parents.items():
        assert by_name[name].parent_span_id == by_name[parent].span_id, name
        assert root.start_time_unix_nano <= by_name[name].start_time_unix_nano <= by_name[name].end_time_unix_nano
    assert attributes(by_name["invoke_agent command"])["gen_ai.operation.name"] == "invoke_agent"
    assert attributes(collector.resources[-1])["service.name"] == "awo"
    # The timeline is as without a collector.
    events = call(service, "GET", f"/v1/runs/{read['runId']}/events")["events"]
    assert events[-1]["type"] == "run.completed", events[-1]


def a_run_that_fails_is_a_trace_with_two_iterations(service, collector):
    read = order(service, "true")
    spans = collector.trace(read["runId"])
    root = next(span for span in spans if span.name == "run")
    assert root.status.code == root.status.STATUS_CODE_ERROR and root.status.message, root.status
    assert attributes(root)["error.type"] == read["error"]["code"]
    checks = [span for span in spans if span.name == "verify"]
    assert len(checks) == 2 and all(span.status.code == span.status.STATUS_CODE_ERROR for span in checks), spans


def a_collector_that_refuses_changes_no_run(service, collector):
    call(service, "PATCH", f"/v1/webhooks/{service.webhook}", {"headers": {"authorization": "Bearer wrong"}})
    read = order(service, "echo done > fixed.txt")
    path = f"/v1/webhooks/{service.webhook}/deliveries"
    refused = lambda: [one for one in call(service, "GET", path)["deliveries"]
                       if one["runId"] == read["runId"] and one["attempts"] and one["attempts"][0].get("statusCode") == 401]
    eventually("a refusal", refused)
    assert read["status"] == "succeeded" and call(service, "GET", f"/v1/runs/{read['runId']}") == read


CASES = [a_run_that_succeeds_is_a_trace, a_run_that_fails_is_a_trace_with_two_iterations,
         a_collector_that_refuses_changes_no_run]


def main():
    tools(Path(sys.argv[2]).resolve())
    # After the tools are there.
    from service import Service
    folder = Path(tempfile.mkdtemp(prefix="awo-telemetry."))
    context, file = authority(folder)
    os.environ.update(AWO_WEBHOOK_ALLOW_LOOPBACK="1", AWO_WEBHOOK_CA_FILE=str(file))
    collector = Collector(folder)
    service, failures = None, 0
    try:
        service = Service(Path(sys.argv[1]).resolve(), folder)
        url = f"https://127.0.0.1:{serve(collector.relay, context)}/v1/traces"
        made = call(service, "POST", "/v1/webhooks", {"url": url, "kind": "otlp", "headers": {"authorization": TOKEN}})
        service.webhook = made["webhook"]["id"]
        for case in CASES:
            try:
                case(service, collector)
                print(f"passed  {case.__name__}")
            except Exception as why:  # shown, and counted
                failures += 1
                print(f"FAILED  {case.__name__}: {type(why).__name__}: {why}", file=sys.stderr)
    finally:
        if service:
            service.stop()
        collector.process.terminate()
        collector.process.wait(20)
        collector.log.close()
    print(f"{len(CASES) - failures} passed, {failures} failed")
    if not failures:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
