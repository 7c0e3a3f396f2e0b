"""Computes the headers of each golden vector with Python's standard library alone, or with the
module that is named as the second argument: `vectors.py FILE [standardwebhooks]`."""

import base64
import hashlib
import hmac
import json
import sys
from datetime import datetime, timezone


def mac(key: bytes, data: bytes) -> bytes:
    return hmac.new(key, data, hashlib.sha256).digest()


def standard(secret: str, vector: dict, body: bytes) -> str:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{vector['id']}.{vector['timestamp']}.".encode() + body
    return "v1," + base64.b64encode(mac(key, signed)).decode()


def by_library(secret: str, vector: dict, body: bytes) -> str:
    from standardwebhooks.webhooks import Webhook

    at = datetime.fromtimestamp(vector["timestamp"], tz=timezone.utc)
    return Webhook(secret).sign(vector["id"], at, body.decode())


def headers(vector: dict, body: bytes, sign) -> dict:
    secrets = [vector["secret"], *filter(None, [vector.get("previousSecret")])]
    names = ["X-Service-Signature", "X-Service-Signature-Previous"]
    of_body = ["sha256=" + mac(secret.encode(), body).hex() for secret in secrets]
    return {
        **dict(zip(names, of_body)),
        "webhook-id": vector["id"],
        "webhook-timestamp": str(vector["timestamp"]),
        "webhook-signature": " ".join(sign(secret, vector, body) for secret in secrets),
    }


def is_text(body: bytes) -> bool:
    try:
        body.decode()
        return True
    except UnicodeDecodeError:
        return False


with open(sys.argv[1], encoding="utf-8") as file:
    vectors = json.load(file)["vectors"]
library = sys.argv[2:] == ["standardwebhooks"]
checked = 0
for vector in vectors:
    body = base64.b64decode(vector["bodyBase64"])
    # The library signs text only.
    if library and not is_text(body):
        continue
    computed = headers(vector, body, by_library if library else standard)
    assert computed == vector["headers"], (vector["name"], computed)
    checked += 1
print(checked)
