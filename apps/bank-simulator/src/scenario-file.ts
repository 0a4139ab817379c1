/**
 * The scenarios in force. The file is read again when it has changed, at the next transfer. A file that
 * cannot be read or is wrong changes nothing: the former scenarios stay in force, and the log says why.
 */
import { readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseScenarios, type Scenario } from './scenarios.js';

export interface ScenarioFileOptions {
  /** The default scenarios of the sandbox when absent. */
  readonly path?: string | undefined;
  readonly onReload?: (path: string, scenarios: number) => void;
  /** The file changed and is not taken over. */
  readonly onProblem?: (path: string, problem: string) => void;
  /** Milliseconds that only grow. */
  readonly clock?: () => number;
}

export const defaultScenariosPath = fileURLToPath(new URL('../scenarios.yaml', import.meta.url));

/** How often the file is looked at, at most. */
const lookEveryMs = 200;

export class ScenarioFile {
  private readonly path: string;
  private scenarios: readonly Scenario[];
  private version: string;
  private lookedAtMs: number;
  /** Why the file of now is not in force. */
  private problem: string | null = null;

  /** @throws BadScenarios, or the file system's error: there are no former scenarios at the start */
  constructor(private readonly options: ScenarioFileOptions = {}) {
    this.path = options.path ?? defaultScenariosPath;
    this.version = versionOf(this.path);
    this.scenarios = parseScenarios(readFileSync(this.path, 'utf8'));
    this.lookedAtMs = this.now();
  }

  current(): readonly Scenario[] {
    const now = this.now();
    if (now - this.lookedAtMs < lookEveryMs) return this.scenarios;
    this.lookedAtMs = now;
    try {
      const version = versionOf(this.path);
      if (version === this.version) return this.scenarios;
      this.version = version;
      this.scenarios = parseScenarios(readFileSync(this.path, 'utf8'));
      this.options.onReload?.(this.path, this.scenarios.length);
    } catch (error) {
      // Once per problem, not once per transfer.
      const problem = error instanceof Error ? error.message : String(error);
      if (problem !== this.problem) this.options.onProblem?.(this.path, problem);
      this.problem = problem;
      return this.scenarios;
    }
    this.problem = null;
    return this.scenarios;
  }

  private now(): number {
    return (this.options.clock ?? (() => performance.now()))();
  }
}

/** Changes when the file is edited or replaced. */
function versionOf(path: string): string {
  const { mtimeMs, size, ino } = statSync(path);
  return [mtimeMs, size, ino].join();
}
