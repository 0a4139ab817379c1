/**
 * A webhook receiver to learn from and to try things with: no package needed, Node 20 or newer.
 *
 *   node docs/examples/receiver.mjs [DIRECTORY] [PORT]
 *
 * DIRECTORY (default .cache/receiver) gets
 *   certificate.pem, key.pem   made with openssl when they are not there, for 127.0.0.1 and localhost
 *   received.jsonl             one line per delivery that was accepted
 * and is where you put, when you have registered the webhook,
 *   secret                     the `secret` of the create response; read again for every delivery
 *
 * What a receiver must do, and this one does: verify the signature over the raw body in constant
 * time, refuse old timestamps, answer within 30 seconds, and deduplicate on the envelope's id,
 * because the same event may arrive several times and in any order.
 */
import { execFileSync } from 'node:child_process';
import { createHmac, timingSafeEqual } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join, resolve } from 'node:path';

const directory = resolve(process.argv[2] ?? '.cache/receiver');
const port = Number(process.argv[3] ?? 8443);
const toleranceMs = 5 * 60_000;
const bodyMaxBytes = 1024 * 1024;

const at = (name) => join(directory, name);
mkdirSync(directory, { recursive: true });
writeFileSync(at('received.jsonl'), '');
if (!existsSync(at('certificate.pem'))) makeCertificate();

/** Whether the delivery was signed with `secret`, by a clock within five minutes of ours. */
function isSigned(headers, rawBody, secret, now = Date.now()) {
  const timestamp = String(headers['x-webhook-timestamp'] ?? '');
  // NaN, of a timestamp that is none, is not within any tolerance.
  if (!(Math.abs(now - Date.parse(timestamp)) <= toleranceMs)) return false;
  const digest = createHmac('sha256', secret).update(`${timestamp}.`).update(rawBody).digest('hex');
  const expected = Buffer.from(`sha256=${digest}`);
  // While a secret is rotated a delivery carries two signatures: one of them is made with ours.
  return ['x-webhook-signature-256', 'x-webhook-signature-256-previous'].some((name) => {
    const given = Buffer.from(String(headers[name] ?? ''));
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

/** Envelope ids handled so far. A real receiver keeps them where its own effects are kept. */
const seen = new Set();

/** The status to answer with. */
function receive(headers, rawBody) {
  // Not registered yet: 503 makes the service try again later.
  if (!existsSync(at('secret'))) return 503;
  const secret = readFileSync(at('secret'), 'utf8').trim();
  if (!isSigned(headers, rawBody, secret)) return 401;

  const event = JSON.parse(rawBody.toString('utf8'));
  const line = JSON.stringify({
    eventType: event.eventType,
    verified: true,
    duplicate: seen.has(event.id),
    status: event.data.status,
    previousStatus: event.data.previousStatus,
    paymentId: event.data.paymentId,
    id: event.id,
    deliveryId: headers['x-webhook-delivery'],
  });
  seen.add(event.id);
  console.log(line);
  appendFileSync(at('received.jsonl'), `${line}\n`);
  return 204;
}

const server = createServer(
  { cert: readFileSync(at('certificate.pem')), key: readFileSync(at('key.pem')) },
  (request, response) => {
    const chunks = [];
    let bytes = 0;
    request.on('data', (chunk) => {
      bytes += chunk.length;
      if (bytes > bodyMaxBytes) request.destroy();
      else chunks.push(chunk);
    });
    request.on('end', () => {
      let status = 500;
      try {
        status = receive(request.headers, Buffer.concat(chunks));
      } catch (error) {
        console.error(`could not handle a delivery: ${error.message}`);
      }
      if (status >= 400) console.error(`refused a delivery with ${status}`);
      response.writeHead(status).end();
    });
  },
);
server.listen(port, '127.0.0.1', () => {
  console.log(`receiving at https://127.0.0.1:${server.address().port}/`);
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(0));

function makeCertificate() {
  execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '365'],
      ...['-subj', '/CN=webhook receiver', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'],
      ...['-keyout', at('key.pem'), '-out', at('certificate.pem')],
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
}
