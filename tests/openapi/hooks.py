"""What the OpenAPI document cannot say about the API, for Schemathesis."""

import json
import os

import hypothesis.strategies as st
import schemathesis
from schemathesis.openapi.checks import RejectedPositiveData, UnsupportedMethodResponse

WEIGHTS = (3, 7, 1)


def _with_checksum(digits: str) -> str:
    """Eight digits and the ninth that makes them an ABA routing number."""
    total = sum(int(digit) * WEIGHTS[at % 3] for at, digit in enumerate(digits))
    return digits + str(-total % 10)


# All zeros have the right checksum and are no routing number.
_ROUTING_NUMBERS = st.from_regex(r"\A[0-9]{7}[1-9]\Z").map(_with_checksum)
schemathesis.openapi.format("aba-routing-number", _ROUTING_NUMBERS)

# Deliveries stay on this machine. Without it (a run by hand) the name leads nowhere.
_RECEIVER = os.environ.get("PIS_RECEIVER_URL", "https://hooks.example.com")
schemathesis.openapi.format("uri", st.from_regex(r"\A/[a-z]{1,8}\Z").map(lambda path: _RECEIVER + path))

# The ids that the document uses in its examples, and records of the account to put in their place.
_RECORDS = json.loads(os.environ.get("PIS_EXAMPLE_RECORDS", "{}"))


def _with_records(node):
    if isinstance(node, dict):
        return {key: _with_records(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_with_records(value) for value in node]
    return _RECORDS.get(node, node) if isinstance(node, str) else node


@schemathesis.hook
def before_load_schema(context, raw_schema) -> None:
    raw_schema["paths"] = _with_records(raw_schema["paths"])


@schemathesis.hook
def before_call(context, case, **kwargs) -> None:
    """A cancellation of the export of the examples cancels another one. The file of the first must stay."""
    parameters = case.path_parameters
    if case.path == "/v1/exports/{exportId}/cancel" and parameters.get("exportId") in _RECORDS.values():
        parameters["exportId"] = os.environ["PIS_EXPORT_TO_CANCEL"]


# A request can follow every schema and still be a 400: these rules are about the state of the account,
# another field, a checksum or a secret of the server (rule validation-1).
BEYOND_SCHEMAS = {
    # party-input-9
    "validation_routing_number",
    # list-filter-6
    "validation_cursor",
    # list-filter-3
    "validation_date_range",
    # payment-decision-5, payment-decision-6
    "validation_contact_originator_mismatch",
    "validation_contact_bank_account_required",
    # webhook-5, webhook-1
    "validation_subscription_limit",
    "validation_url_private_address",
    "validation_url_credentials",
}
# Which names a PATCH may clear depends on the record's entity type (rules party-2 to party-4).
NAMES = {"firstName", "lastName", "companyName"}


# The formats of banks have room for movements only (rule export-5).
BANK_FORMATS = {"bai2", "camt053"}


def _explained(problem: dict, case) -> bool:
    method, body = case.method, case.body
    # How much of the log was signed (rule audit-3).
    if case.path == "/v1/audit/consistency" and problem["issue"] == "validation_max":
        return True
    if problem["field"] == "format" and isinstance(body, dict) and body.get("format") in BANK_FORMATS:
        return body.get("kind") != "movements"
    if method == "PATCH" and problem["field"] in NAMES:
        return problem["issue"] in BEYOND_SCHEMAS | {"validation_required"}
    return problem["issue"] in BEYOND_SCHEMAS


@schemathesis.hook
def filter_failure(context, failure, case, response) -> bool:
    """False for a failure that is a decision of ours."""
    if isinstance(failure, UnsupportedMethodResponse):
        # Not 405: a path with another method is no route (rules check-order-1 and
        # further-error-7).
        return response.status_code != 404 or response.json()["error"]["code"] != "NOT_FOUND"
    # No schema can know how long a file is.
    if isinstance(failure, RejectedPositiveData) and response.status_code == 416:
        return response.request.headers.get("Range") is None
    if isinstance(failure, RejectedPositiveData) and response.status_code == 400:
        error = response.json()["error"]
        # A key that could become a prototype is refused at any depth, also where unknown fields are ignored.
        if error["code"] == "INVALID_JSON" and "__proto__" in str(case.body):
            return False
        problems = error.get("details", [])
        return not problems or not all(_explained(problem, case) for problem in problems)
    return True
