/** What the API reference says before its operations. */
import type { Tag } from '../operations/operation.js';

export const tags: readonly {
  readonly name: Tag | 'Notifications';
  readonly description: string;
}[] = [
  { name: 'Originators', description: 'Your own parties and their bank accounts.' },
  { name: 'Contacts', description: 'The parties on the other side, for both directions.' },
  { name: 'Payments', description: 'Transfers between an originator and a contact.' },
  { name: 'Rails', description: 'Which rail a payment takes, and why.' },
  { name: 'Webhooks', description: 'Your endpoints that receive events.' },
  { name: 'Events', description: 'The same events, to poll instead of webhooks.' },
  { name: 'Statements', description: 'Monthly statements: one PDF for each originator.' },
  { name: 'Exports', description: 'Files of your records, to keep or to load elsewhere.' },
  {
    name: 'Audit',
    description: 'Signed checkpoints of the log, and proofs that your payments are in it.',
  },
  { name: 'Sandbox', description: 'Operations that exist only in the sandbox.' },
  { name: 'Notifications', description: 'The requests that your webhook endpoints receive.' },
];

export const description = `
Create payments over bank rails and learn by signed webhooks what becomes of them.

**Authentication.** Every request carries \`Authorization: Bearer <API key>\`. A key belongs to one organization and one
environment; a record of another organization is a 404.

**Answers.** A success is \`{"data": …, "meta": {"timestamp": …}}\`, an error \`{"error": {"code", "message", "details"}}\`.
Branch on \`code\` and on the \`validation_*\` codes in \`details\`; texts may change. Fields may be added at any time:
ignore unknown fields. Each path works with and without a trailing slash.

**Money** is integer minor units (cents for USD). Account and routing numbers are masked wherever they are shown.

**Idempotency.** Creating a payment needs an \`Idempotency-Key\`. After a time-out or a 5xx repeat the request with the
same key, after 1, 2, 4 and 8 seconds: there is never a second payment. Do not repeat a 4xx unchanged, but for 429, which
says in \`Retry-After\` when to. Every answer to a key says in \`RateLimit\` how much it may still ask.

**Lists** of payments are newest first, in pages: pass \`meta.pagination.nextCursor\` as \`cursor\` until it is null.

**Webhooks** arrive at least once and in any order: deduplicate on the envelope's \`id\`, and reconcile by \`status\`,
\`previousStatus\` and \`createdAt\`. A delivery that is not answered with 2xx within 30 seconds is repeated after 30 seconds,
then after twice as long each time, at most an hour, for 72 hours (statements: 14 days).
`.trim();
