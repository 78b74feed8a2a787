"""Checks Standard Webhooks signatures for the test receiver.

Shares nothing with the signing side, so that it reveals a mistake there.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

from receiver.messages import Answer, Request, answer_json

#: Signatures older or newer than this are refused, as Standard Webhooks advises.
SIGNATURE_TOLERANCE_SECONDS = 300


class SignatureCheck:
    """Standard Webhooks signatures against one secret (``whsec_`` and base64)."""

    def __init__(self, secret: str) -> None:
        try:
            self._key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
        except (binascii.Error, ValueError) as error:
            raise ValueError("the secret must be whsec_ and base64") from error
        if not self._key:
            raise ValueError("the secret must be whsec_ and base64")

    def accepts(self, request: Request) -> bool:
        """Return whether any ``v1`` signature is right and its timestamp near the arrival."""
        return self.problem(request) is None

    def problem(self, request: Request) -> str | None:
        """Return why the request is not to be trusted, or None.

        ``signature_missing``, ``timestamp_out_of_tolerance`` or ``signature_wrong``.
        """
        webhook_id = request.header("webhook-id") or ""
        timestamp = request.header("webhook-timestamp") or ""
        given = (request.header("webhook-signature") or "").split()
        if not given or not timestamp:
            return "signature_missing"
        if not timestamp.isascii() or not timestamp.isdigit() or len(timestamp) > 12:
            return "timestamp_out_of_tolerance"
        if abs(int(timestamp) - request.wall_ns // 10**9) > SIGNATURE_TOLERANCE_SECONDS:
            return "timestamp_out_of_tolerance"
        signed = f"{webhook_id}.{timestamp}.".encode("latin-1", "replace") + request.body
        right = b"v1," + base64.b64encode(hmac.new(self._key, signed, hashlib.sha256).digest())
        found = any(
            hmac.compare_digest(right, word.encode("latin-1", "replace")) for word in given[:20]
        )
        return None if found else "signature_wrong"


def verify(request: Request, own: SignatureCheck | None) -> Answer:
    """Answer 200, or 401 with the reason; 400 without a secret to check with."""
    # A form turns the plus sign of base64 into a space.
    secret = request.query.get("secret", "").replace(" ", "+")
    check = SignatureCheck(secret) if secret else own
    if check is None:
        raise ValueError("secret is missing: /verify?secret=whsec_…")
    problem = check.problem(request)
    if problem is None:
        return answer_json(200, {"verified": True})
    return answer_json(401, {"verified": False, "error": problem})
