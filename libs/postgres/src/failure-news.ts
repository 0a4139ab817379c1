import { sqlStateOf } from './transient-errors.js';

/**
 * Which failures to log of work that is tried again until it succeeds: the first of each kind, and then ever fewer, when
 * their number reaches a power of two.
 */
export class FailureNews {
  #count = 0;
  readonly #kinds = new Set<string>();

  /** Counts the failure. */
  isNews(error: unknown): boolean {
    this.#count += 1;
    const kind = kindOf(error);
    const isNewKind = !this.#kinds.has(kind);
    this.#kinds.add(kind);
    return isNewKind || (this.#count & (this.#count - 1)) === 0;
  }

  /** It has succeeded: the next failure is news. */
  over(): void {
    this.#count = 0;
    this.#kinds.clear();
  }
}

/** Not the message, which may have an ID or a time. */
function kindOf(error: unknown): string {
  const { name = '', code = '' } = (error ?? {}) as { name?: unknown; code?: unknown };
  return `${String(name)} ${sqlStateOf(error)} ${String(code)}`;
}
