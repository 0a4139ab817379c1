import { jest } from '@jest/globals';
import { print } from './output.js';

const hostile = 'a\r\u001b[2K\u009b31m\u202eb';

function printed(result: unknown, json: boolean): string {
  const write = jest.spyOn(process.stdout, 'write').mockImplementation(() => true);
  try {
    print(result, { json });
    return write.mock.calls.map(([text]) => String(text)).join('');
  } finally {
    write.mockRestore();
  }
}

it('shows control characters of strangers to a person, and no line that they forged', () => {
  const text = printed({ error: `${hostile}\nstate: delivered`, more: [hostile] }, false);
  expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  expect(text).toContain('error: a\\u{d}\\u{1b}[2K');
  expect(text).not.toMatch(/^state: /m);
});

it('prints JSON that no terminal obeys and that parses to the same', () => {
  const line = printed({ error: `${hostile}\u{e0001}` }, true);
  expect(line.trimEnd()).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  expect(JSON.parse(line)).toEqual({ error: `${hostile}\u{e0001}` });
});
