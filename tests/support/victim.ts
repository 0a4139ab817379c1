/** Processes that a test kills. */
import path from 'node:path';
import { readyLine, root, type RunningProcess, startCommand } from './process.js';

/** A process that is started again whenever it was killed. */
export class Victim {
  private running: RunningProcess | null = null;
  private starting: Promise<void>;
  private readonly logs: string[] = [];
  kills = 0;

  constructor(private readonly begin: () => Promise<RunningProcess>) {
    this.starting = this.start();
  }

  /** Resolves when it runs. */
  up(): Promise<void> {
    return this.starting;
  }

  /** SIGKILL, as soon as it runs. It is started again at once, which is not waited for. */
  async kill(): Promise<void> {
    await this.starting;
    await this.end();
    this.kills += 1;
    this.starting = this.start();
    // Whoever waits for it next hears of a failure.
    this.starting.catch(() => undefined);
  }

  async stop(): Promise<void> {
    await this.starting;
    await this.end();
  }

  /** What its ready line says, of its present life. */
  get url(): string {
    return String(this.running?.ready['url']);
  }

  /** Of all its lives. */
  log(): string {
    return [...this.logs, this.running?.stderr() ?? ''].join('\n--- killed ---\n');
  }

  private async start(): Promise<void> {
    this.running = await this.begin();
  }

  private async end(): Promise<void> {
    if (this.running === null) return;
    await this.running.kill();
    this.logs.push(this.running.stderr());
    this.running = null;
  }
}

/** The app that global setup has built, without its launcher: it starts in half the time. */
export function startApp(
  app: string,
  env: Readonly<Record<string, string>>,
): Promise<RunningProcess> {
  const compiled = { NODE_COMPILE_CACHE: path.join(root, '.cache/compile') };
  return startCommand(process.execPath, [`apps/${app}/dist/main.js`], {
    ...{ env: { ...compiled, ...env }, cwd: root, readyLine },
  });
}
