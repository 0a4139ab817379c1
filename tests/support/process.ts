/** Starts the processes of the system like a user, and reads their ready lines. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

export const root = path.resolve(import.meta.dirname, '../..');

export interface RunningProcess {
  /** The JSON of the ready line. */
  readonly ready: Readonly<Record<string, unknown>>;
  readonly child: ChildProcess;
  readonly pid: number;
  /** Everything written to stderr so far: the structured logs. */
  stderr(): string;
  stdout(): string;
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
  /** SIGINT to the process and its children, like Ctrl-C in a terminal. Resolves when it has ended. */
  interrupt(): Promise<void>;
  /** SIGKILL to the process and its children. */
  kill(): Promise<void>;
}

const readyLimitMs = 120_000;

/** The script of `npm start [-- app]`, without the process of npm. */
export function startProcess(
  app: string | null,
  env: Readonly<Record<string, string>>,
): Promise<RunningProcess> {
  const args = ['tools/start.mjs', ...(app === null ? [] : [app])];
  return startCommand(process.execPath, args, { env, cwd: root, readyLine });
}

/** Rules ready-1 and ready-3. */
export function readyLine(line: string): Record<string, unknown> | null {
  if (!line.startsWith('{"ready":true')) return null;
  return JSON.parse(line) as Record<string, unknown>;
}

/** Only what a process needs to run: no setting of the machine leaks into a test. */
export function cleanEnv(env: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR, CI } = process.env;
  return { PATH, HOME, ...(TMPDIR ? { TMPDIR } : {}), ...(CI ? { CI } : {}), ...env };
}

export interface CommandOptions {
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** The content of the ready line. Null for any other line. */
  readonly readyLine: (line: string) => Record<string, unknown> | null;
}

/**
 * Node arguments that end a script when this process is gone, so that a killed test run leaves no apps. The
 * script is started with an IPC channel (tools/leash.mjs).
 */
const leash = [
  '--import',
  `${pathToFileURL(path.join(root, 'tools/leash.mjs')).href}?launcher=${process.pid}`,
];

/** Several systems run on one machine. */
const freePorts = { PORT: '0', PIS_BANK_SFTP_PORT: '0', PIS_BANK_HTTPS_PORT: '0' };

/** There is no load balancer, so the drain would only slow down each test. Tests count what they made. */
const quickAndEmpty = { PIS_SHUTDOWN_DRAIN_MS: '0', PIS_DEMO_PAYMENTS: 'false' };

/** Starts a command in its own process group and waits for its ready line. */
export async function startCommand(
  command: string,
  args: readonly string[],
  options: CommandOptions,
): Promise<RunningProcess> {
  const isNode = command === process.execPath;
  const child = spawn(command, isNode ? [...leash, ...args] : args, {
    cwd: options.cwd,
    env: cleanEnv({ ...freePorts, ...quickAndEmpty, HOST: '127.0.0.1', ...options.env }),
    stdio: ['ignore', 'pipe', 'pipe', ...(isNode ? (['ipc'] as const) : [])],
    detached: true,
  });
  const err: Buffer[] = [];
  const out: string[] = [];
  child.stderr?.on('data', (chunk: Buffer) => err.push(chunk));
  const stderr = () => Buffer.concat(err).toString('utf8');
  const exited = once(child, 'exit') as Promise<[number | null]>;

  const ready = await new Promise<Record<string, unknown>>((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`not ready within ${readyLimitMs} ms:\n${stderr()}`)),
      readyLimitMs,
    );
    if (child.stdout === null) throw new Error('no stdout');
    createInterface({ input: child.stdout }).on('line', (line) => {
      out.push(line);
      const said = options.readyLine(line);
      if (said === null) return;
      clearTimeout(timer);
      resolve(said);
    });
    exited.then(
      ([code]) => {
        clearTimeout(timer);
        reject(new Error(`exited with ${String(code)} before it was ready:\n${stderr()}`));
      },
      (error: unknown) => reject(error as Error),
    );
  });
  if (child.pid === undefined) throw new Error('no pid');
  const pid = child.pid;
  return {
    ready,
    child,
    pid,
    stderr,
    stdout: () => out.join('\n'),
    stop: async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
      const [code] = await exited;
      return code;
    },
    interrupt: async () => {
      if (child.exitCode === null && child.signalCode === null) process.kill(-pid, 'SIGINT');
      await exited;
    },
    kill: async () => {
      // Kills the group of launcher and app, as if the machine died.
      process.kill(-pid, 'SIGKILL');
      await exited;
    },
  };
}

export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** `./pis …` */
export function pis(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  stdin?: string,
): Promise<CommandResult> {
  const script = ['apps/cli/bin/pis.mjs', ...args];
  const given = stdin === undefined ? {} : { stdin };
  return runCommand(process.execPath, script, { env, cwd: root, ...given });
}

/** Begins `./pis …`, and ends it and its children with SIGKILL once `reached` resolves or throws. */
export async function killPisOnce(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  reached: () => Promise<unknown>,
): Promise<void> {
  const child = spawn(process.execPath, ['apps/cli/bin/pis.mjs', ...args], {
    cwd: root,
    env: cleanEnv(env),
    stdio: 'ignore',
    detached: true,
  });
  const { pid } = child;
  const exited = once(child, 'exit');
  if (pid === undefined) throw new Error('no pid');
  try {
    await reached();
  } finally {
    if (child.exitCode === null && child.signalCode === null) process.kill(-pid, 'SIGKILL');
    await exited;
  }
}

/** Runs a script of the project to its end. */
export function run(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<CommandResult> {
  return runCommand(process.execPath, args, { env, cwd: root });
}

/** Runs a command to its end. */
export async function runCommand(
  command: string,
  args: readonly string[],
  options: Omit<CommandOptions, 'readyLine'> & { readonly stdin?: string },
): Promise<CommandResult> {
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: cleanEnv(options.env),
    stdio: [options.stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  child.stdin?.end(options.stdin);
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout?.on('data', (chunk: Buffer) => out.push(chunk));
  child.stderr?.on('data', (chunk: Buffer) => err.push(chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  return {
    code,
    stdout: Buffer.concat(out).toString('utf8'),
    stderr: Buffer.concat(err).toString('utf8'),
  };
}

/** What an audit says beside its progress, which only a slow machine is told. */
export function withoutProgress(stderr: string): string {
  return stderr.replaceAll(/^pis: .*\d events read\n/gm, '');
}

/** Runs `pis` and returns the JSON it prints; fails with its stderr. */
export async function pisJson<Result>(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Result> {
  const { code, stdout, stderr } = await pis([...args, '--json'], env);
  if (code !== 0) throw new Error(`pis ${args.join(' ')} exited with ${String(code)}: ${stderr}`);
  return JSON.parse(stdout) as Result;
}
