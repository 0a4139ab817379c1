/**
 * What a failed handler means for its message: retry a few times and park (most errors), park at once
 * (NonRetryable), or retry forever because a dependency is unavailable (isTransient in libs/postgres).
 */

/** Thrown by a handler that knows that no retry will help: the message is parked at once. */
export class NonRetryable extends Error {
  override readonly name = 'NonRetryable';
}

/** One line for logs and dead letters, of bounded length and without the NUL that PostgreSQL refuses. */
export function errorText(error: unknown): string {
  const { name, message, code, type } = describe(error);
  const kind = type || code;
  const text = `${name}${kind === '' ? '' : ` (${kind})`}: ${message}`;
  return text.replaceAll('\0', '').slice(0, errorTextMax);
}

const errorTextMax = 1_000;

interface Link {
  readonly name: string;
  readonly code: string;
  readonly type: string;
  readonly message: string;
}

function describe(error: unknown): Link {
  if (typeof error !== 'object' || error === null) {
    return { name: 'Error', code: '', type: '', message: String(error) };
  }
  const text = (key: string): string => {
    const value: unknown = Reflect.get(error, key);
    return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  };
  return {
    name: text('name') || 'Error',
    code: text('code'),
    type: text('type'),
    message: text('message'),
  };
}
