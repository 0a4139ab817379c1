import { ApiError } from './errors.js';
import { parseJson } from './json-body.js';

const parse = (text: string) => parseJson(Buffer.from(text));

describe('the JSON of a body', () => {
  it.each([
    ['{"a":1,"b":{"a":2},"c":[{"a":1},{"a":2}]}'],
    ['{"text":"a:b {\\"a\\":1,\\"a\\":2} \\\\"}'],
    ['[":",{":":":"}]'],
    ['"a:b"'],
    ['{"constructor":{"prototype":1},"toString":2}'],
    ['{"":1," ":2}'],
    ['null'],
  ])('accepts %s', (text) => {
    expect(parse(text)).toEqual(JSON.parse(text));
  });

  it('returns undefined for an empty body', () => {
    expect(parse('')).toBeUndefined();
  });

  it.each([
    ['a key twice', '{"a":1,"a":1}'],
    ['a key twice, once escaped', '{"a":1,"\\u0061":2}'],
    ['a key twice deep inside', '{"a":[{"b":{"c":1,"d":2,"c":3}}]}'],
    ['the key 0 twice', '{"0":1,"0":2}'],
    ['malformed JSON', '{"a":1,}'],
    ['an unfinished string', '{"a":"b'],
    ['an unfinished escape', '"\\'],
    ['two values', '{} {}'],
    ['a comment', '{} // no'],
    ['a byte order mark', '\ufeff{}'],
    ['__proto__', '{"__proto__":{"admin":true}}'],
    ['__proto__, escaped and deep', '{"a":[{"\\u005f_proto__":1}]}'],
    ['NaN', '{"a":NaN}'],
    ['a control character in a string', '{"a":"\u0001"}'],
    ['a depth without end', '['.repeat(60_000)],
    ['a depth beyond the limit', '['.repeat(33) + ']'.repeat(33)],
  ])('refuses %s', (_what, text) => {
    expect(() => parse(text)).toThrow(expect.objectContaining({ code: 'INVALID_JSON' }) as Error);
  });

  it('refuses invalid UTF-8', () => {
    expect(() => parseJson(Buffer.from([0x22, 0xff, 0x22]))).toThrow(ApiError);
  });

  it('does not quote the body in its message', () => {
    expect(() => parse('{"achAccountNumber":000123456789}')).toThrow(
      /^the body is not valid JSON$/,
    );
  });
});
