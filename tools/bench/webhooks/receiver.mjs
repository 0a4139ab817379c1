/**
 * Clients' webhook endpoints in a process of their own, each on a port of its own as clients' are.
 * Paths say how one behaves: /fast answers 200 at once, /timed too and notes when each payment's
 * event came, /slow answers after thirty seconds. Speaks just enough HTTP/1.1, so that on the cores
 * it shares with what is measured it costs little. Reports the arrivals to its parent in batches.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { machineMs } from '../machine-clock.mjs';

const endpoints = 21;
const slowAnswerMs = 30_000;
const flushEveryMs = 10;
const answer = Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
const headEnd = Buffer.from('\r\n\r\n');

/** Delivery IDs, to distinguish repeated attempts from first ones. */
const seen = new Set();
let news = nothing();

function nothing() {
  return { received: 0, again: 0, slow: 0, bytes: 0, lastAtMs: 0, timed: [] };
}

function serve(socket) {
  let buffered = Buffer.alloc(0);
  socket.on('data', (chunk) => {
    buffered = buffered.length === 0 ? chunk : Buffer.concat([buffered, chunk]);
    for (let request = next(); request !== null; request = next()) receive(socket, request);
  });
  // A sender may disconnect, for example because it was stopped. That is not an error here.
  socket.on('error', () => socket.destroy());

  function next() {
    const end = buffered.indexOf(headEnd);
    if (end === -1) return null;
    const head = buffered.latin1Slice(0, end);
    const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? Number.NaN);
    if (Number.isNaN(length)) throw new Error(`a request without content-length:\n${head}`);
    const bodyAt = end + headEnd.length;
    if (buffered.length < bodyAt + length) return null;
    const body = buffered.latin1Slice(bodyAt, bodyAt + length);
    buffered = buffered.subarray(bodyAt + length);
    return { head, body };
  }
}

function receive(socket, { head, body }) {
  const path = /^\w+ (\S+)/.exec(head)?.[1] ?? '';
  if (path.startsWith('/slow')) {
    news.slow += 1;
    setTimeout(() => socket.write(answer), slowAnswerMs).unref();
    return;
  }
  const atMs = machineMs();
  socket.write(answer);
  const id = /^x-webhook-delivery: *(\S+)/im.exec(head)?.[1];
  if (seen.has(id)) {
    news.again += 1;
    return;
  }
  seen.add(id);
  news.received += 1;
  news.bytes += body.length;
  news.lastAtMs = atMs;
  if (path.startsWith('/timed'))
    news.timed.push([/"paymentId":"([^"]+)"/.exec(body)?.[1] ?? '', atMs]);
}

function certificate() {
  const folder = mkdtempSync(join(tmpdir(), 'pis-bench-receiver-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const [keyFile, caFile] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
  const args = [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'],
    ...['-days', '2', '-subj', '/CN=webhook receiver', '-addext', 'subjectAltName=IP:127.0.0.1'],
    ...['-keyout', keyFile, '-out', caFile],
  ];
  execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  return { key: readFileSync(keyFile), cert: readFileSync(caFile), caFile };
}

async function listen({ key, cert }) {
  const server = createServer({ key, cert, noDelay: true }, serve);
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `https://127.0.0.1:${server.address().port}`;
}

const tls = certificate();
const urls = await Promise.all(Array.from({ length: endpoints }, () => listen(tls)));
setInterval(() => {
  if (news.received + news.again + news.slow === 0) return;
  process.send(news);
  news = nothing();
}, flushEveryMs);
process.send({ urls, caFile: tls.caFile });
process.once('disconnect', () => process.exit(0));
