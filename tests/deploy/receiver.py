"""A receiver of webhooks on loopback, over TLS, with a certificate of an authority of its own.

It keeps whatever arrives, byte for byte, and answers 204; `hold` makes it wait before it does, so
that a check can look at who waits for it. What is genuine is decided here anew from the secret:
nothing is shared with the code that signs."""

from __future__ import annotations

import base64
import datetime
import hashlib
import hmac
import ipaddress
import json
import ssl
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from progress import expect

VALID = datetime.timedelta(days=1)
# The greatest age of a delivery, from docs/webhooks.md.
TOLERANCE_SECONDS = 5 * 60
# A request that nobody lets go is answered then.
HOLD_SECONDS = 25
MAX_BODY = 1024 * 1024


@dataclass
class Delivery:
    """A request as it came."""

    path: str
    headers: dict[str, str]
    body: bytes

    def event(self) -> dict:
        return json.loads(self.body)


@dataclass
class Receiver:
    port: int
    ca_file: Path
    deliveries: list[Delivery] = field(default_factory=list)
    # Answers wait for it; set, they do not.
    go_on: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}/hooks"

    def of_type(self, kind: str) -> list[Delivery]:
        return [delivery for delivery in list(self.deliveries) if delivery.event()["type"] == kind]


def name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def certificate(subject: str, key, issuer: str, issuer_key, extension) -> x509.Certificate:
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = x509.CertificateBuilder().subject_name(name(subject)).issuer_name(name(issuer))
    builder = builder.public_key(key.public_key()).serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(now - VALID).not_valid_after(now + VALID)
    return builder.add_extension(extension, critical=True).sign(issuer_key, hashes.SHA256())


def pem(of: x509.Certificate) -> bytes:
    return of.public_bytes(serialization.Encoding.PEM)


def make_certificates(folder: Path) -> tuple[Path, Path]:
    """The authority's certificate, and a file with the receiver's certificate and key."""
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = "check-deploy"
    is_authority = x509.BasicConstraints(ca=True, path_length=0)
    loopback = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    root = certificate(authority, authority_key, authority, authority_key, is_authority)
    own = certificate("receiver", key, authority, authority_key, loopback)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    ca_file, own_file = folder / "receivers-ca.pem", folder / "receiver.pem"
    ca_file.write_bytes(pem(root))
    own_file.touch(mode=0o600)
    own_file.write_bytes(pem(own) + private)
    return ca_file, own_file


@contextmanager
def receiver(scratch: Path):
    ca_file, own_file = make_certificates(scratch)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own_file)
    known = Receiver(0, ca_file)
    known.go_on.set()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:  # noqa: N802, the name is the library's
            length = int(self.headers.get("content-length", "0"))
            body = self.rfile.read(min(length, MAX_BODY))
            headers = {key.lower(): value for key, value in self.headers.items()}
            known.deliveries.append(Delivery(self.path, headers, body))
            known.go_on.wait(HOLD_SECONDS)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def finish_request(self, request, client_address) -> None:
            # In the thread of the connection, so that a slow handshake holds up nobody else.
            with context.wrap_socket(request, server_side=True) as secured:
                self.RequestHandlerClass(secured, client_address, self)

        def handle_error(self, *_: object) -> None:
            """Who comes and goes without a handshake is nobody's fault here."""

    server = Server(("127.0.0.1", 0), Handler)
    known.port = server.server_address[1]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield known
    finally:
        known.go_on.set()
        server.shutdown()
        server.server_close()


def verify(delivery: Delivery, secret: str) -> None:
    """Both signatures, over the bytes that arrived."""
    headers, what = delivery.headers, f"the delivery to {delivery.path}"
    whole = "sha256=" + hmac.digest(secret.encode(), delivery.body, "sha256").hex()
    expect(headers.get("x-service-signature") == whole, f"{what}: X-Service-Signature is not of its body")
    sent_at = headers["webhook-timestamp"]
    expect(abs(time.time() - int(sent_at)) < TOLERANCE_SECONDS, f"{what}: it was sent at {sent_at}")
    signed = f"{headers['webhook-id']}.{sent_at}.".encode() + delivery.body
    key = base64.b64decode(secret.removeprefix("whsec_"))
    standard = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    expect(standard in headers["webhook-signature"].split(" "), f"{what}: webhook-signature is not of it")
    expect(headers["webhook-id"] == delivery.event()["id"], f"{what}: its id is another")
