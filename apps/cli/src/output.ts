/** The output of every command: `--json`, and failures with a reason. */
import { once } from 'node:events';
import { visibleJson, visibleText } from '@pis/audit/life';
import type { Command } from 'commander';

/** An expected failure: the message goes to stderr, the exit code is 1. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed';
}

export interface OutputOptions {
  readonly json?: boolean;
}

export function withJson(command: Command): Command {
  return command.option('--json', 'print one line of JSON');
}

/** One line of JSON, or `name: value` lines for a person. */
export function print(result: unknown, { json }: OutputOptions): void {
  process.stdout.write(json ? `${visibleJson(JSON.stringify(result))}\n` : `${human(result)}\n`);
}

/**
 * Prints a list: `{"data":[…]}` with `--json`, otherwise its items as text. Keys, users and projections stay bare arrays,
 * because existing scripts read arrays.
 */
export function printList(data: readonly unknown[], options: OutputOptions): void {
  print(options.json === true ? { data } : data, options);
}

/**
 * Prints a list that may be long, as `printList` does, item by item. Waits for a reader that is slow. If an item fails, the JSON is left
 * open, so that no script takes it for the whole list.
 */
export async function printItems(
  items: AsyncIterable<unknown>,
  { json }: OutputOptions,
): Promise<void> {
  let count = 0;
  for await (const item of items) {
    const before = count === 0 ? (json ? '{"data":[' : '') : json ? ',' : '\n\n';
    await say(before + (json ? visibleJson(JSON.stringify(item)) : human(item)));
    count += 1;
  }
  if (json) await say(count === 0 ? '{"data":[]}\n' : ']}\n');
  else await say(count === 0 ? 'none\n' : '\n');
}

/** Waits for a reader that is slow. */
export async function say(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain');
}

/** Says on stderr which counts ended at their limit: the number alone looks like the whole. */
export function tellCutCounts(counts: Readonly<Record<string, number>>, max: number): void {
  for (const [name, count] of Object.entries(counts))
    if (count >= max)
      process.stderr.write(`pis: ${name}: at least ${max} events: they were not counted further\n`);
}

function human(result: unknown): string {
  if (Array.isArray(result)) return result.length === 0 ? 'none' : result.map(human).join('\n\n');
  if (typeof result !== 'object' || result === null) return shown(String(result));
  return Object.entries(result)
    .map(
      ([name, value]) =>
        `${name}: ${shown(typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value))}`,
    )
    .join('\n');
}

/** A text of several lines stays one. Its lines are indented, so that none looks like another field. */
export function shown(text: string): string {
  return text.split('\n').map(visibleText).join('\n    ');
}

/**
 * The reason in one line, down to its cause; errors made of several (a refused connection, Kafka's)
 * name each.
 */
export function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { errors } = error as { errors?: unknown };
  const parts: unknown[] = Array.isArray(errors) ? errors : [];
  const said = [error.message, ...parts.map(describe)].filter((text) => text !== '').join('; ');
  const cause = error.cause === undefined ? '' : describe(error.cause);
  return said.includes(cause) ? said : [said, cause].filter((text) => text !== '').join(': ');
}
