/**
 * A webhook receiver for Node 20 or newer, without packages. It speaks plain HTTP on 127.0.0.1 and
 * belongs behind whatever ends TLS for you (nginx, a load balancer): the service sends to https:// only.
 *
 *   WEBHOOK_SECRET=… PORT=8080 INBOX=inbox.jsonl node webhook-receiver.mjs
 *
 * The order is the point: verify, store, answer. Work on what is stored afterwards, at your own pace.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { createServer } from 'node:http';

const secret = process.env.WEBHOOK_SECRET;
if (!secret) throw new Error('WEBHOOK_SECRET is the `secret` that creating the webhook returned');
const inboxFile = process.env.INBOX ?? 'inbox.jsonl';
const toleranceMs = 5 * 60_000;
const bodyMaxBytes = 1024 * 1024;

/** While a secret is rotated a delivery carries two signatures: one of them is made with ours. */
const signatureHeaders = ['x-webhook-signature-256', 'x-webhook-signature-256-previous'];

/** Over the raw bytes, before any parsing: JSON that was parsed and written again may differ. */
function isAuthentic(headers, rawBody) {
  const timestamp = String(headers['x-webhook-timestamp'] ?? '');
  // A timestamp that is none gives NaN, which is within no tolerance.
  if (!(Math.abs(Date.now() - Date.parse(timestamp)) <= toleranceMs)) return false;
  const hmac = createHmac('sha256', secret).update(`${timestamp}.`).update(rawBody);
  const expected = Buffer.from(`sha256=${hmac.digest('hex')}`);
  return signatureHeaders.some((name) => {
    const given = Buffer.from(String(headers[name] ?? ''));
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

/** The ids of all events in the inbox. Yours is a table with a unique key on the id. */
const known = new Set(
  existsSync(inboxFile)
    ? readFileSync(inboxFile, 'utf8')
        .split('\n')
        .filter((line) => line.endsWith('}'))
        .map((line) => JSON.parse(line).id)
    : [],
);
const inbox = openSync(inboxFile, 'a');

/** The status to answer with. */
function receive(headers, rawBody) {
  if (!isAuthentic(headers, rawBody)) return 401;
  const event = JSON.parse(rawBody.toString('utf8'));
  // Delivered before: say thank you again, or it comes again.
  if (known.has(event.id)) return 204;
  writeSync(inbox, `${JSON.stringify(event)}\n`);
  fsyncSync(inbox);
  known.add(event.id);
  return 204;
}

const server = createServer((request, response) => {
  const chunks = [];
  let bytes = 0;
  request.on('data', (chunk) => {
    bytes += chunk.length;
    if (bytes > bodyMaxBytes) request.destroy();
    else chunks.push(chunk);
  });
  request.on('end', () => {
    let status = 405;
    try {
      if (request.method === 'POST') status = receive(request.headers, Buffer.concat(chunks));
    } catch (error) {
      // Ours to repair: a 5xx makes the service try again later.
      console.error(error);
      status = 500;
    }
    response.writeHead(status).end();
  });
});
server.listen(Number(process.env.PORT ?? 8080), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}/`);
});
for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, () => {
    server.close();
    server.closeIdleConnections();
    closeSync(inbox);
    process.exit(0);
  });
