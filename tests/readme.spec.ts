/**
 * Runs the first session of the README in three terminals, word for word, and checks its promises.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { until } from '@pis/local-servers/testing';
import { readyLine, runCommand, type RunningProcess, startCommand } from './support/process.js';
import { processesOf } from './support/processes.js';
import { freshCheckout, sessionOf } from './support/readme.js';

const sessionLimitMs = 240_000;
const endLimitMs = 60_000;

let base: string;
let checkout: string;
const terminals: RunningProcess[] = [];

beforeEach(() => {
  base = mkdtempSync(path.join(os.tmpdir(), 'pis-readme-'));
  checkout = freshCheckout(path.join(base, 'checkout'));
});

afterEach(async () => {
  await endTerminals();
  rmSync(base, { recursive: true, force: true });
}, sessionLimitMs);

it(
  'the first session of the README works as it is written, and Ctrl-C leaves nothing behind',
  async () => {
    // The README has fixed ports. A test needs free ones: the receiver takes its port as last argument.
    const receiver = await terminal(`node() { command node "$@" 0; }\n${sessionOf('receiver')}`, {
      readyLine: (line) => {
        const [, url] = /^receiving at (https:\S+)\/$/.exec(line) ?? [];
        return url === undefined ? null : { url };
      },
    });
    const service = await terminal(sessionOf('service'), { readyLine });

    const session = await runCommand('bash', ['-ec', sessionOf('client')], {
      cwd: checkout,
      env: {
        API: String(service.ready['apiUrl']),
        KEY: String(service.ready['apiKey']),
        RECEIVER: String(receiver.ready['url']),
      },
    });
    expect({ code: session.code, stderr: session.stderr }).toEqual({ code: 0, stderr: '' });
    expect(service.ready['apiKey']).toBe('pis_test_my_very_first_session');

    const shown = session.stdout.split('\n');
    expect(shown).toContain('COMPLETED');
    expect(session.stdout).toMatch(/^idempotent-replayed: true\r?$/im);
    const received = shown
      .filter((line) => line.startsWith('{"eventType"'))
      .map((line) => JSON.parse(line) as { eventType: string; verified: boolean });
    expect(received.map(({ eventType }) => eventType).sort()).toEqual([
      'payment.completed',
      'payment.processing',
      'payment.queued',
    ]);
    expect(received.every(({ verified }) => verified)).toBe(true);
    expect(session.stdout).toContain('********6789');
    expect(session.stdout).not.toContain('000123456789');

    await endTerminals();
    await until(() => processesOf(base).length === 0, { timeoutMs: endLimitMs });
  },
  sessionLimitMs,
);

/** Starts bash with the commands, and waits for its ready line. */
async function terminal(
  commands: string,
  { readyLine }: Pick<Parameters<typeof startCommand>[2], 'readyLine'>,
): Promise<RunningProcess> {
  const env = { PIS_DATA_DIR: path.join(base, 'data'), PIS_DEMO_PAYMENTS: 'true' };
  const running = await startCommand('bash', ['-ec', commands], { env, cwd: checkout, readyLine });
  terminals.push(running);
  return running;
}

async function endTerminals(): Promise<void> {
  await Promise.all(terminals.splice(0).map((running) => running.interrupt()));
}
