/** The parent's side of a dispatcher that runs as a child process (dispatcher-process.ts). */
import { type ChildProcess, execFile, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { PaymentIntegrationEvent } from '@pis/contracts';
import { until } from '@pis/local-servers/testing';
import type { ProcessOptions, Reply, Request } from './dispatcher-process.js';

/** Built code: a child process does not have the test's transformer. */
const program = fileURLToPath(new URL('../../dist/testing/dispatcher-process.js', import.meta.url));
const prepare = fileURLToPath(new URL('../../../../tools/prepare.mjs', import.meta.url));
const limitMs = 60_000;
export const buildLimitMs = 300_000;

/** Builds stale code, as `npm test` does for scenarios, so the child runs the current sources. */
export async function buildDispatcher(): Promise<void> {
  await promisify(execFile)(process.execPath, [prepare], { timeout: buildLimitMs });
}

export class DispatcherChild {
  readonly owner = randomUUID();
  readonly handled = new Set<string>();
  /** Why events could not be handled. */
  readonly failed: string[] = [];
  private readonly child: ChildProcess = fork(program, { execArgv: [] });
  private isStarted = false;

  constructor(options: Omit<ProcessOptions, 'owner'>) {
    this.child.on('message', (reply: Reply) => {
      if ('started' in reply) this.isStarted = true;
      else if ('handled' in reply) this.handled.add(reply.handled);
      else this.failed.push(reply.error);
    });
    // A process that dies gets no answer.
    this.child.on('error', () => undefined);
    this.send({ start: { ...options, owner: this.owner } });
  }

  async started(): Promise<void> {
    await until(() => this.isStarted, { timeoutMs: limitMs, what: 'a dispatcher of its own' });
  }

  handle(event: PaymentIntegrationEvent): void {
    this.send({ handle: event });
  }

  /** Until it has killed itself (dieAt). */
  async died(): Promise<void> {
    await until(() => this.child.signalCode === 'SIGKILL', { timeoutMs: limitMs, what: 'death' });
  }

  async kill(): Promise<void> {
    if (this.child.signalCode !== null || this.child.exitCode !== null) return;
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
  }

  private send(request: Request): void {
    this.child.send(request);
  }
}
