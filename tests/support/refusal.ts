import type { CommandResult } from './process.js';

/** An expected failure: exit code 1, one reason on stderr, nothing on stdout, no stack. */
export function expectRefusal(
  result: CommandResult,
  ...reasons: readonly (string | RegExp)[]
): void {
  expect({ code: result.code, stdout: result.stdout }).toEqual({ code: 1, stdout: '' });
  for (const reason of reasons) expect(result.stderr).toMatch(reason);
  expect(result.stderr).not.toMatch(/^\s+at /m);
}
