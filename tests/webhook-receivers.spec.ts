/**
 * Runs each receiver of docs/examples as its first lines say, with deliveries signed by the service's own
 * code. A receiver in a language that is not installed is skipped.
 */
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import os from 'node:os';
import path from 'node:path';
import { createSecret, deliveryHeaders, sign } from '@pis/webhooks';
import { root, type RunningProcess, startCommand } from './support/process.js';

const startLimitMs = 240_000;
const examples = path.join(root, 'docs/examples');
const secret = createSecret();
const otherSecret = createSecret();

interface Example {
  readonly name: string;
  /** The program that must be installed. */
  readonly runtime: readonly [string, ...string[]];
  /** @param folder used only by this test */
  start(folder: string): Promise<RunningProcess>;
  /** The IDs of the events that it accepted as new, in order. */
  accepted(folder: string): string[];
}

const env = (folder: string) => ({
  WEBHOOK_SECRET: secret,
  INBOX: path.join(folder, 'inbox.jsonl'),
  PORT: '0',
});
const readyLine = (line: string) => {
  const [, url] = /^(?:listening on|receiving at) (https?:\S+)$/.exec(line) ?? [];
  return url === undefined ? null : { url };
};
const start = (folder: string, command: string, args: readonly string[]) =>
  startCommand(command, args, { cwd: folder, env: env(folder), readyLine });

function linesOf(file: string): Record<string, unknown>[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as never);
}
const inbox = (folder: string) =>
  linesOf(path.join(folder, 'inbox.jsonl')).map(({ id }) => String(id));

const all: readonly Example[] = [
  {
    name: 'webhook-receiver.mjs',
    runtime: [process.execPath, '--version'],
    start: (folder) =>
      start(folder, process.execPath, [path.join(examples, 'webhook-receiver.mjs')]),
    accepted: inbox,
  },
  {
    name: 'webhook_receiver.py',
    runtime: ['python3', '--version'],
    start: (folder) => start(folder, 'python3', [path.join(examples, 'webhook_receiver.py')]),
    accepted: inbox,
  },
  {
    name: 'webhook_receiver.go',
    runtime: ['go', 'version'],
    start(folder) {
      const program = path.join(folder, 'receiver');
      // Built once for each folder: `go run` would leave its child running.
      if (!existsSync(program))
        execFileSync('go', ['build', '-o', program, path.join(examples, 'webhook_receiver.go')], {
          cwd: folder,
          env: { ...process.env, GOTOOLCHAIN: 'local', GOFLAGS: '' },
        });
      return start(folder, program, []);
    },
    accepted: inbox,
  },
  {
    name: 'receiver.mjs',
    runtime: ['openssl', 'version'],
    start(folder) {
      writeFileSync(path.join(folder, 'secret'), `${secret}\n`);
      return start(folder, process.execPath, [path.join(examples, 'receiver.mjs'), folder, '0']);
    },
    accepted: (folder) =>
      linesOf(path.join(folder, 'received.jsonl'))
        .filter(({ duplicate }) => duplicate === false)
        .map(({ id }) => String(id)),
  },
];

function isInstalled([command, ...args]: Example['runtime']): boolean {
  try {
    execFileSync(command, args, { stdio: 'ignore' });
    return true;
  } catch {
    // Missing or not able to run: the example is skipped.
    return false;
  }
}

interface Sent {
  readonly body: string;
  readonly headers: Record<string, string>;
}

/** A request like the dispatcher's. */
function delivery({ id = randomUUID() as string, key = secret, at = new Date() } = {}): Sent & {
  id: string;
} {
  const data = { paymentId: randomUUID(), status: 'QUEUED', paymentNote: 'Zażółć 💸' };
  const body = JSON.stringify({ id, version: '1', eventType: 'payment.queued', data });
  const described = { deliveryId: randomUUID(), eventType: 'payment.queued', body };
  return { id, body, headers: deliveryHeaders(described, key, at.toISOString()) };
}

async function post(url: string, { body, headers }: Sent, caFile: string): Promise<number> {
  if (!url.startsWith('https:'))
    return (await fetch(url, { method: 'POST', headers, body })).status;
  return new Promise((resolve, reject) => {
    const ca = readFileSync(caFile);
    const sent = httpsRequest(url, { method: 'POST', headers, ca, agent: false }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode ?? 0));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

describe.each(all)('The example $name', (example) => {
  const it_ = isInstalled(example.runtime) ? it : it.skip;
  const title = isInstalled(example.runtime) ? '' : ` (skipped: no ${example.runtime[0]} here)`;
  let folder: string;
  let running: RunningProcess | undefined;

  beforeEach(() => {
    folder = mkdtempSync(path.join(os.tmpdir(), 'pis-example-'));
  });
  afterEach(async () => {
    await running?.kill();
    running = undefined;
    rmSync(folder, { recursive: true, force: true });
  });

  const receiver = async () => {
    running = await example.start(folder);
    const url = String(running.ready['url']);
    const send = (sent: Sent) => post(url, sent, path.join(folder, 'certificate.pem'));
    return { send, accepted: () => example.accepted(folder) };
  };

  it_(
    `takes each event once, and thanks for it every time${title}`,
    async () => {
      const { send, accepted } = await receiver();
      const [first, second] = [delivery(), delivery()];
      for (const sent of [first, second, first]) expect(await send(sent)).toBe(204);
      // A retry: the same event with a new signature.
      expect(await send(delivery({ id: second.id }))).toBe(204);
      const third = delivery();
      const statuses = await Promise.all(Array.from({ length: 8 }, () => send(third)));
      expect(new Set(statuses)).toEqual(new Set([204]));
      expect(accepted()).toEqual([first.id, second.id, third.id]);
    },
    startLimitMs,
  );

  it_(
    `refuses what the service did not sign, just now, for it${title}`,
    async () => {
      const { send, accepted } = await receiver();
      const sent = delivery();
      const { headers, body } = sent;
      const { 'X-Webhook-Signature-256': signature = '', ...unsigned } = headers;
      const minutesMs = 60_000;
      const later = (minutes: number) =>
        delivery({ at: new Date(Date.now() + minutes * minutesMs) });
      const refused: Record<string, Sent> = {
        'a body that was changed': { headers, body: body.replace('QUEUED', 'COMPLETED') },
        'a body with a space more': { headers, body: `${body} ` },
        'another secret': delivery({ key: otherSecret }),
        'a timestamp of six minutes ago': later(-6),
        'a timestamp six minutes ahead': later(6),
        'a timestamp that was changed': {
          body,
          headers: {
            ...headers,
            'X-Webhook-Timestamp': new Date(Date.now() - 1_000).toISOString(),
          },
        },
        'a timestamp that is none': signedAt('now'),
        'a timestamp that is empty': signedAt(''),
        'no signature': { headers: unsigned, body },
        'an empty signature': { headers: { ...headers, 'X-Webhook-Signature-256': '' }, body },
        'half a signature': {
          headers: { ...headers, 'X-Webhook-Signature-256': signature.slice(0, 39) },
          body,
        },
        'no headers at all': { headers: {}, body },
      };
      const answers: Record<string, number> = {};
      for (const [what, hostile] of Object.entries(refused)) answers[what] = await send(hostile);
      expect(answers).toEqual(Object.fromEntries(Object.keys(refused).map((what) => [what, 401])));
      expect(accepted()).toEqual([]);
      for (const minutes of [-4, 4]) expect(await send(later(minutes))).toBe(204);
      expect(await send(sent)).toBe(204);
      expect(accepted()).toHaveLength(3);
    },
    startLimitMs,
  );

  it_(
    `goes on with the old secret while a new one is being introduced${title}`,
    async () => {
      const { send, accepted } = await receiver();
      const { headers, body, id } = delivery({ key: otherSecret });
      const timestamp = headers['X-Webhook-Timestamp'] ?? '';
      const withPrevious = (previous: string) => ({
        body,
        headers: {
          ...headers,
          'X-Webhook-Signature-256-Previous': sign(previous, timestamp, body),
        },
      });
      expect(await send(withPrevious(createSecret()))).toBe(401);
      expect(await send(withPrevious(secret))).toBe(204);
      expect(accepted()).toEqual([id]);
    },
    startLimitMs,
  );
});

/** Correctly signed, but with an invalid time. */
function signedAt(timestamp: string): Sent {
  const { body, headers } = delivery();
  const signature = sign(secret, timestamp, body);
  return {
    body,
    headers: {
      ...headers,
      'X-Webhook-Timestamp': timestamp,
      'X-Webhook-Signature-256': signature,
    },
  };
}
