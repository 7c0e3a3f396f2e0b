"""A way to the service that fails: each path's first answer breaks off, the second is 503, the third is 429 with
`Retry-After`, and later ones are whole. An answer that breaks off has the first bytes of the true one, and that of
a POST none: the service has done it."""

import http.client
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

# An event or two of a stream, and less than any run.
BYTES_BEFORE_THE_BREAK = 700
PASSED_ON = ("Authorization", "Accept", "Last-Event-ID", "Idempotency-Key", "Content-Type")


class Flaky(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, service_url):
        super().__init__(("127.0.0.1", 0), Handler)
        self.service = urlsplit(service_url)
        self.answers = {}
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def nth(self, path):
        with self.lock:
            self.answers[path] = self.answers.get(path, 0) + 1
            return self.answers[path]

    def handle_error(self, request, client_address):
        """Clients that go away are no news here."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.do_GET()

    def do_GET(self):
        posted = self.command == "POST"
        body = self.rfile.read(int(self.headers["Content-Length"])) if posted else None
        nth = self.server.nth(f"{self.command} {urlsplit(self.path).path}")
        if nth in (2, 3):
            self.refuse(503 if nth == 2 else 429)
            return
        service = http.client.HTTPConnection(self.server.service.netloc, timeout=120)
        headers = {name: self.headers[name] for name in PASSED_ON if name in self.headers}
        service.request(self.command, self.path, body=body, headers=headers)
        answer = service.getresponse()
        if nth == 1 and posted:
            answer.read()
            self.close_connection = True
        else:
            self.relay(answer, BYTES_BEFORE_THE_BREAK if nth == 1 else None)
        service.close()

    def refuse(self, status):
        body = b'{"error": {"code": "INTERNAL", "message": "flaky", "retryable": true}}'
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if status == 429:
            self.send_header("Retry-After", "1")
        self.end_headers()
        self.wfile.write(body)

    def relay(self, answer, limit):
        self.close_connection = True
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.getheader("Content-Type", "application/json"))
        if answer.status == 204:
            self.end_headers()
            return
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while piece := answer.read1(65_536):
            piece = piece[:limit]
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            if limit is not None and (limit := limit - len(piece)) <= 0:
                return
        # Without the last chunk the answer has broken off.
        if limit is None:
            self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_):
        """Nothing is logged."""
