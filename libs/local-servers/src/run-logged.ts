import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, statSync } from 'node:fs';

const shownMax = 2_000;

export interface LoggedRun {
  /** Gets all output of the program, appended. */
  log: string;
  env: NodeJS.ProcessEnv;
  uid?: number;
  gid?: number;
  /** It is ended after this time. Default: none. */
  timeoutMs?: number;
}

/** Runs a program to its end. If its exit code is not 0, throws with its output. */
export async function runLogged(
  command: readonly string[],
  { log, env, timeoutMs, ...user }: LoggedRun,
): Promise<void> {
  const [program = '', ...args] = command;
  const from = sizeOf(log);
  const output = openSync(log, 'a', 0o600);
  try {
    const stdio: ['ignore', number, number] = ['ignore', output, output];
    const child = spawn(program, args, { cwd: '/', stdio, env, timeout: timeoutMs, ...user });
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
    if (code !== 0)
      throw new Error(`${command.join(' ')} ended with ${code ?? signal}:\n${logSince(log, from)}`);
  } finally {
    closeSync(output);
  }
}

/** The text added to a log after it had the size `from`; only its end when it is long. */
export function logSince(log: string, from: number): string {
  return endOf(textSince(log, from));
}

/** What is shown of a long text. */
export function endOf(text: string): string {
  return text.slice(-shownMax);
}

export function textSince(log: string, from: number): string {
  return existsSync(log) ? readFileSync(log).subarray(from).toString('utf8') : '';
}

export function sizeOf(log: string): number {
  return existsSync(log) ? statSync(log).size : 0;
}
