"""A function's real `bootstrap` under a stand-in for Lambda's Runtime API that takes answers in pieces.

Lambda gives an event to `GET …/invocation/next` and takes the answer at `POST …/{id}/response`. An
answer that streams says so in a header, is chunked, and has the head of the HTTP answer first: JSON,
then eight zero bytes, then the body. Every piece is kept here with the time at which it came, so that
a check can compare what a client would have had while the function still ran."""

from __future__ import annotations

import base64
import json
import queue
import threading
import time
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl

from processes import running
from progress import CheckFailed, expect, wait_for

PREFIX = "/2018-06-01/runtime/"
HEAD_END = bytes(8)
NEXT_SECONDS = 600
START_SECONDS = 20
MAX_LINE = 64 * 1024
MODE = "lambda-runtime-function-response-mode"
KIND = "application/vnd.awslambda.http-integration-response"
TRAILERS = {"lambda-runtime-function-error-type", "lambda-runtime-function-error-body"}


@dataclass
class Streamed:
    """The outcome of one invocation, so far."""

    event: dict
    deadline_ms: int
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    headers: dict[str, str] = field(default_factory=dict)
    pieces: list[tuple[float, bytes]] = field(default_factory=list)
    trailers: dict[str, str] = field(default_factory=dict)
    error: bytes | None = None
    ended: threading.Event = field(default_factory=threading.Event)

    def all(self) -> bytes:
        return b"".join(piece for _, piece in list(self.pieces))

    def head(self) -> dict | None:
        """Status and headers for the client, once they are there."""
        head, end, _ = self.all().partition(HEAD_END)
        return json.loads(head) if end else None

    def body(self) -> bytes:
        return self.all().partition(HEAD_END)[2]

    def until(self, what: str, seconds: float, probe) -> object:
        """Waits for something in what has come; nothing may have gone wrong by then."""

        def look():
            if self.error is not None:
                raise CheckFailed(f"{what}: the function failed: {self.error!r}")
            return probe()

        return wait_for(what, seconds, look, 0.05)

    def until_ended(self, what: str, seconds: float) -> dict:
        """The head of the whole answer, which came as the protocol wants it."""
        self.until(f"{what}: its end", seconds, self.ended.is_set)
        expect(self.headers.get(MODE) == "streaming", f"{what}: {MODE} is {self.headers.get(MODE)}")
        expect(self.headers.get("transfer-encoding") == "chunked", f"{what}: it is not chunked")
        expect(self.headers.get("content-type") == KIND, f"{what}: it is {self.headers.get('content-type')}")
        declared = {name.strip().lower() for name in self.headers.get("trailer", "").split(",")}
        expect(declared >= TRAILERS, f"{what}: it declares the trailers {sorted(declared)}")
        expect(not self.trailers, f"{what}: it ended with {self.trailers}")
        head = self.head()
        expect(head is not None, f"{what}: it has no head: {self.all()[:500]!r}")
        expect(head["headers"].get("x-request-id"), f"{what}: its head is {head}")
        return head


class Function:
    """A bootstrap that waits for events."""

    def __init__(self, arn: str, seconds: int) -> None:
        self.arn, self.seconds = arn, seconds
        self.asked = threading.Event()
        self.waiting: queue.Queue[Streamed] = queue.Queue()
        self.known: dict[str, Streamed] = {}

    def invoke(self, event: dict) -> Streamed:
        streamed = Streamed(event, int((time.time() + self.seconds) * 1000))
        self.known[streamed.id] = streamed
        self.waiting.put(streamed)
        return streamed


def handler_of(function: Function):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:  # noqa: N802, the name is the library's
            expect(self.path == f"{PREFIX}invocation/next", f"GET {self.path}")
            function.asked.set()
            try:
                streamed = function.waiting.get(timeout=NEXT_SECONDS)
            except queue.Empty:
                return self.close()
            self.answer(
                200,
                json.dumps(streamed.event).encode(),
                {
                    "lambda-runtime-aws-request-id": streamed.id,
                    "lambda-runtime-deadline-ms": str(streamed.deadline_ms),
                    "lambda-runtime-invoked-function-arn": function.arn,
                    "lambda-runtime-trace-id": "Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700;Sampled=0",
                },
            )

        def do_POST(self) -> None:  # noqa: N802
            if self.path == f"{PREFIX}init/error":
                for streamed in function.known.values():
                    streamed.error = self.whole()
                return self.answer(202, b"{}", {})
            _, _, rest = self.path.partition(f"{PREFIX}invocation/")
            request, _, what = rest.partition("/")
            streamed = function.known[request]
            streamed.headers = {name.lower(): value for name, value in self.headers.items()}
            # A header that stands twice is one list.
            streamed.headers["trailer"] = ",".join(self.headers.get_all("trailer") or [])
            if what == "error":
                streamed.error = self.whole()
            elif "chunked" in self.headers.get("transfer-encoding", ""):
                self.take_chunks(streamed)
            else:
                streamed.pieces.append((time.monotonic(), self.whole()))
            streamed.ended.set()
            self.answer(202, b"{}", {})

        def take_chunks(self, streamed: Streamed) -> None:
            while size := int(self.rfile.readline(MAX_LINE).split(b";")[0], 16):
                piece = self.rfile.read(size)
                streamed.pieces.append((time.monotonic(), piece))
                self.rfile.readline(MAX_LINE)
            while line := self.rfile.readline(MAX_LINE).strip():
                name, _, value = line.decode().partition(":")
                streamed.trailers[name.lower()] = value.strip()

        def whole(self) -> bytes:
            return self.rfile.read(int(self.headers.get("content-length", "0")))

        def close(self) -> None:
            self.close_connection = True

        def answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in {"content-type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A function that is ended while it waits leaves a broken connection; the wait for its
        answer ends by the clock."""


@contextmanager
def function(bootstrap: Path, configuration: dict, credentials: dict[str, str], log: Path):
    """Starts a function's program as Lambda starts it: with the environment of its deployed
    configuration and its role's credentials, and with nothing of ours."""
    program = Function(configuration["FunctionArn"], configuration["Timeout"])
    server = Server(("127.0.0.1", 0), handler_of(program))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    environment = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{server.server_address[1]}",
        "AWS_LAMBDA_FUNCTION_NAME": configuration["FunctionName"],
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(configuration["MemorySize"]),
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_REGION": configuration["FunctionArn"].split(":")[3],
        **configuration["Environment"]["Variables"],
        **credentials,
    }
    try:
        with running([str(bootstrap)], log, environment, bootstrap.parent) as child:

            def asks() -> bool:
                expect(child.poll() is None, f"{configuration['FunctionName']} ended at once: see {log}")
                return program.asked.is_set()

            wait_for(f"{configuration['FunctionName']}'s first question", START_SECONDS, asks)
            yield program
    finally:
        server.shutdown()
        server.server_close()


def proxy_event(call: tuple[str, str], resource: str, headers: dict[str, str], body: bytes | None) -> dict:
    """A REST API's event for a call of a method and a path, of which `resource` is the template."""
    method, target = call
    path, _, query = target.partition("?")
    pairs = zip(resource.split("/"), path.split("/"))
    parameters = {name[1:-1]: value for name, value in pairs if name.startswith("{")}
    values: dict[str, list[str]] = {}
    for key, value in parse_qsl(query):
        values.setdefault(key, []).append(value)
    return {
        "resource": resource,
        "path": path,
        "httpMethod": method,
        "headers": headers,
        "multiValueHeaders": {name: [value] for name, value in headers.items()},
        "queryStringParameters": {name: of[-1] for name, of in values.items()} or None,
        "multiValueQueryStringParameters": values or None,
        "pathParameters": parameters or None,
        "stageVariables": None,
        "requestContext": {
            "accountId": "000000000000",
            "apiId": "check00000",
            "stage": "live",
            "httpMethod": method,
            "protocol": "HTTP/1.1",
            "path": f"/live{path}",
            "resourcePath": resource,
            "resourceId": "check0",
            "requestId": str(uuid.uuid4()),
            "requestTime": time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime()),
            "requestTimeEpoch": int(time.time() * 1000),
            "identity": {"sourceIp": "127.0.0.1", "userAgent": "check-deploy"},
        },
        # All media types are binary to this API, so bodies come in Base64.
        "body": base64.b64encode(body).decode() if body else None,
        "isBase64Encoded": bool(body),
    }
