/** Decisions of interface.md about features that this release does not have, and those it does not keep yet. */
import { audit, dashboard, erasure, exports, fees, statements } from './reasons.mjs';

export const laterDecisions = {
  'link-decision-1': {
    text: '**Links.** The processing fee that a payer sees is discountFee + flatFee of the payment; the transfer moves paymentAmount plus that fee; `paymentAmount` stays the requested amount. An account is active unless its last return was R02, R03, R04 or R20 or a notification of change on it is unanswered. The link page refuses a routing number that the directory does not have; the API accepts it (ACH only, bankName null).',
    notTestable: dashboard,
  },
  'page-1': {
    text: '**Pages.** Accessible names are part of the interface, in English; other languages translate them. Link page: headings "Payment details", "Payment status", "This link has expired"; fields "Account type" (Checking, Savings), "Routing number", "Account number", "Confirm account number", "Address line 1", "City", "State", "ZIP code", "Country"; button "Submit bank details". Without JavaScript the same form posts to the same URL. Expired: 410. Canceled or unknown: 404. Too many requests: 429 with Retry-After.',
    notTestable: dashboard,
  },
  'page-2': {
    text: 'Dashboard: `/dashboard/sign-in` with fields "Email", "Password" (then "One-time code" where TOTP is on) and button "Sign in"; navigation links Overview, Payments, Contacts, Originators, Webhooks, API keys, Users, Statements; on Payments the button "New payment", its form with "Originator", "Direction", "Recipient" (a saved contact, or "New recipient" with "Recipient type", "First name", "Last name" or "Company name"), "Amount" (in dollars), "Note", button "Create payment"; a payment\'s page `/dashboard/payments/:id` shows "Payment link" with the URL as text where there is one, and the button "Cancel payment" (confirmed by "Yes, cancel it"). Paths: `/dashboard/payments` (button "New payment" opens the form), `/contacts`, `/originators`, `/webhooks`, `/api-keys` (button "New API key", field "Type", button "Create key"; the key is shown this once), `/users`, `/statements`; filters are labelled "Status" and "Direction"; "Sign out" may sit in a menu. Directions are called "Request" (INBOUND) and "Send" (OUTBOUND), recipient types "Individual" and "Business". Amounts read `$1,234.56`. A field in error has `aria-invalid="true"` and its message beside it; without JavaScript a refused form answers 4xx. One main landmark per page; no console errors. The link page names the originator and the account holder; a link that was used says so to a second submitter, and is 410 too once it has expired. The link URL is shown to operator, approver and admin, never to viewer; users and API keys belong to admin. Five failed sign-ins lock the account for 15 minutes; a wrong password and an unknown e-mail read alike. `pis user create` takes the password as one line on stdin and prints `{"userId"}`; `disable` and `reset` take `--id`. Page limits follow `PIS_RATE_LIMIT_PER_KEY` (0 turns them off).',
    notTestable: dashboard,
  },
  'fee-decision-1': {
    text: '**Fees.** discountFee is rounded down. All three are fixed at creation and shown from then on; returnFee is collected only for payments that were returned.',
    notTestable: fees,
  },
  'audit-1': {
    text: '**Audit.** Standard formats, so that other people\'s tools can check them. `GET /v1/audit/key` → `{"verifierKey"}`, a C2SP signed-note verifier key (`name+hash+base64`, Ed25519). `GET /v1/audit/checkpoints` (newest first, paged like payments) → `{"treeSize","rootHash","createdAt","note"}`, `note` being the C2SP tlog-checkpoint text with its signature. `GET /v1/audit/consistency?from=SIZE&to=SIZE` → `{"proof":[base64]}`. `GET /v1/payments/:id/proof` → `{"checkpoint":note,"treeSize","events":[{"index","leaf":base64,"proof":[base64]}]}`, all events of the payment\'s stream. Hashes and proofs are RFC 6962\'s (SHA-256, leaf prefix 00, node prefix 01). A leaf is canonical JSON (RFC 8785) with `streamId`, `revision`, `type`, `id`, `recordedAt` and `eventHash`; no personal data, so that erasure leaves it valid. `pis audit export --payment ID --out FILE` writes the same as one bundle for the offline verifier. `pis audit verify` exits 0 when everything holds and 1 with one line per finding (stream, revision, what differs); `--json` gives `{"ok","eventsRead","eventsPerSecond","findings":[…]}`. `--checkpoint FILE` takes a note that somebody kept: a log that is not consistent with it is a finding. The origin of a checkpoint is the key\'s name; no two checkpoints have the same size and another root; `rootHash` is base64. Leaves are all events in position order but those of the checkpoints\' own stream. `eventHash` is SHA-256, hex, of the canonical JSON of `{streamId, revision, id, type, data, metadata}`, the metadata holding the predecessor\'s hash. These paths take full_access and read_only keys. `node tools/verifier/verify.mjs BUNDLE --key VERIFIER_KEY` exits 0 or 1. `?asOf=` takes an ISO 8601 time, not in the future; a wrong one is VALIDATION_ERROR naming `asOf`. `pis audit show --json` gives `{"events":[{"at","type","actor","keyId","address",…}]}`.',
    notTestable: audit,
  },
  'erasure-1': {
    text: '**Erasure.** `pis contact erase` refuses with exit code 1 while a payment is not final or the retention period runs (`--override-retention` with the reason recorded). An erased contact: GET lists show it no more, payments keep `contactId` and amounts and show the party\'s personal fields as null and `erased: true`; a payment to it is 404; the same person can be created anew. `pis originator erase --id ID --reason TEXT` does the same for individual originators. Final is COMPLETED, RETURNED, FAILED, BLOCKED and CANCELED. In a payment the erased party keeps its id and `entityType`; bodies of pending deliveries are rewritten and still sent, recorded excerpts of receivers\' answers are erased too; everything within 10 s and in every process. `pis keys status --json` → `{"activeKeyId","keys":[{"keyId","state":"active"|"old","dependents"}]}`; an old key may be taken out once its `dependents` is 0.',
    notTestable: erasure,
  },
  'fee-schedule-1': {
    text: '**Fee schedules.** `pis fees set --file F --json`: `{"schedules":[{"originatorId"?,"rail"?,"direction"?,"from"?,"discountFeeBasisPoints","discountFeeMin"?,"discountFeeCap"?,"flatFee","returnFee"}]}`, amounts in cents; the most specific match wins, then the latest `from` that is not in the future. All integers; one bad entry refuses the whole file with exit code 1 and names the field. `pis fees collect --year Y --month M` is what the monthly job does, by hand, one debit per originator of discountFee + flatFee + returnFee.',
    notTestable: fees,
  },
  'export-1': {
    text: '**Exports.** `POST /v1/exports` `{"kind":"payments"|"fees"|"deliveries"|"movements","format":"csv"|"jsonl"|"bai2"|"camt053","from"?,"to"?,"originatorId"?}` → 202 `{"exportId","status"}`; `GET /v1/exports/:id` adds `rows`, `sizeBytes`, `sha256`, `progress`; `GET /v1/exports/:id/file` when `status` is `completed` (supports Range). `from` and `to` filter by createdAt as the lists do. BAI2 and camt.053 exist for movements (one account per originator; a return is a second, opposite movement), other kinds in them are VALIDATION_ERROR. `rows` counts records (16, Ntry). CSV has a header row with the API\'s field names, amounts in cents, and neutralizes formulas with a leading apostrophe; JSON Lines are the API\'s objects.',
    notTestable: exports,
  },
  'statement-read-4': {
    text: 'The PDF names originator and month, shows amounts as 1,234.56 and lists every payment by its externalPaymentId or the first eight characters of its id.',
    notTestable: statements,
  },
  'rail-decision-4': {
    text: 'SWIFT: only for a bankAccount with a swiftCode of a country other than US.',
    notTestable: 'this release sends no payment over SWIFT',
  },
};
