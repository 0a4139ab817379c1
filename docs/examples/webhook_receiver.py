"""A webhook receiver for Python 3.9 or newer, without packages. It speaks plain HTTP on 127.0.0.1 and
belongs behind whatever ends TLS for you (nginx, a load balancer): the service sends to https:// only.

    WEBHOOK_SECRET=... PORT=8080 INBOX=inbox.jsonl python3 webhook_receiver.py

The order is the point: verify, store, answer. Work on what is stored afterwards, at your own pace.
"""

import hashlib
import hmac
import json
import os
import threading
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ["WEBHOOK_SECRET"].encode()
INBOX = os.environ.get("INBOX", "inbox.jsonl")
TOLERANCE_SECONDS = 5 * 60
BODY_MAX_BYTES = 1024 * 1024

# While a secret is rotated a delivery carries two signatures: one of them is made with ours.
SIGNATURE_HEADERS = ("X-Webhook-Signature-256", "X-Webhook-Signature-256-Previous")


def is_authentic(headers, raw_body: bytes) -> bool:
    """Over the raw bytes, before any parsing: JSON that was parsed and written again may differ."""
    timestamp = headers.get("X-Webhook-Timestamp", "")
    try:
        signed_at = datetime.fromisoformat(timestamp.replace("Z", "+00:00"))
        age = datetime.now(timezone.utc) - signed_at
    except (ValueError, TypeError):
        return False
    if abs(age.total_seconds()) > TOLERANCE_SECONDS:
        return False
    digest = hmac.new(SECRET, timestamp.encode() + b"." + raw_body, hashlib.sha256).hexdigest()
    expected = f"sha256={digest}".encode()
    return any(
        hmac.compare_digest(headers.get(name, "").encode(), expected) for name in SIGNATURE_HEADERS
    )


class Inbox:
    """The events that were accepted, each once. Yours is a table with a unique key on the id."""

    def __init__(self, path: str):
        self.lock = threading.Lock()
        self.file = open(path, "a+", encoding="utf-8")
        self.file.seek(0)
        self.known = {json.loads(line)["id"] for line in self.file if line.endswith("}\n")}

    def store(self, event: dict) -> None:
        with self.lock:
            if event["id"] in self.known:
                return
            self.file.write(json.dumps(event) + "\n")
            self.file.flush()
            os.fsync(self.file.fileno())
            self.known.add(event["id"])


inbox = Inbox(INBOX)


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        if length > BODY_MAX_BYTES:
            self.close_connection = True
            return self.answer(413)
        raw_body = self.rfile.read(length)
        if not is_authentic(self.headers, raw_body):
            return self.answer(401)
        # An error here becomes a 500 or a cut connection: the service tries again later.
        inbox.store(json.loads(raw_body))
        # Also when it was delivered before: say thank you again, or it comes again.
        self.answer(204)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8080"))), Receiver)
print(f"listening on http://127.0.0.1:{server.server_address[1]}/", flush=True)
try:
    server.serve_forever()
except KeyboardInterrupt:
    pass
