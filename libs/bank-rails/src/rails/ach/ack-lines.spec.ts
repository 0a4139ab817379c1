import type { AckFile, InquiryFile } from './ack-file.js';
import {
  kindOfAchFile,
  parseAckFile,
  parseInquiryFile,
  writeAckFile,
  writeInquiryFile,
} from './ack-lines.js';

const ack: AckFile = {
  name: 'PIS-20261123-0001.ach',
  sha256: 'ab'.repeat(32),
  status: 'accepted',
  code: null,
  message: null,
  at: '2026-11-23T15:00:00.000Z',
  entries: [
    {
      traceNumber: '091000010000001',
      status: 'rejected',
      code: 'ACCOUNT_NUMBER',
      message: 'The account number is invalid.',
    },
    { traceNumber: '091000010000002', status: 'held', code: null, message: null },
  ],
};
const inquiry: InquiryFile = { at: '2026-11-23T15:00:00.000Z', traceNumbers: ['091000010000001'] };

describe('An acknowledgement', () => {
  it('is one line for the file, one for each listed entry, and one with their count', async () => {
    const bytes = writeAckFile(ack);
    expect(Buffer.from(bytes).toString().split('\n')).toEqual([
      '{"type":"file","name":"PIS-20261123-0001.ach","sha256":"' +
        `${'ab'.repeat(32)}","status":"accepted","code":null,"message":null,"at":"2026-11-23T15:00:00.000Z"}`,
      '{"type":"entry","traceNumber":"091000010000001","status":"rejected","code":"ACCOUNT_NUMBER","message":"The account number is invalid."}',
      '{"type":"entry","traceNumber":"091000010000002","status":"held","code":null,"message":null}',
      '{"type":"end","entries":2}',
      '',
    ]);
    expect(await parseAckFile(bytes)).toEqual({ file: ack, problem: null });
    expect(kindOfAchFile(bytes)).toBe('ack');
  });

  it('is refused when it is torn anywhere', async () => {
    const bytes = writeAckFile(ack);
    for (let length = 0; length < bytes.length; length += 1)
      expect((await parseAckFile(bytes.subarray(0, length))).file).toBeNull();
  });

  it.each([
    ['an unknown status', 2, (text: string) => text.replace('"rejected"', '"maybe"')],
    ['a short trace number', 2, (text: string) => text.replace('091000010000001', '1')],
    ['no JSON', 1, (text: string) => text.replace('{', '')],
    ['a missing field', 1, (text: string) => text.replace('"status":"accepted",', '')],
    ['an unknown field', 1, (text: string) => text.replace('"code":null', '"code":null,"more":1')],
    ['a wrong count', 4, (text: string) => text.replace('"entries":2', '"entries":3')],
    ['more after the end', 5, (text: string) => `${text}{}\n`],
    ['a time that is none', 1, (text: string) => text.replace('15:00:00.000Z', 'noon')],
    ['a control character in the name', 1, (text: string) => text.replace('.ach', '\\u0000.ach')],
    [
      'a control character in the message',
      2,
      (text: string) => text.replace('is invalid', '\\u0000'),
    ],
    [
      'a line that is too long',
      2,
      (text: string) => text.replace('"type":"entry"', `${' '.repeat(9_000)}"type":"entry"`),
    ],
  ])('is refused with the line of %s', async (_, line, change) => {
    const text = change(Buffer.from(writeAckFile(ack)).toString());
    const { file, problem } = await parseAckFile(Buffer.from(text));
    expect(file).toBeNull();
    expect(problem?.line).toBe(line);
  });

  it('is not written when it could not be read', () => {
    expect(() => writeAckFile({ ...ack, sha256: '' })).toThrow(RangeError);
  });
});

describe('An inquiry', () => {
  it('lists trace numbers', async () => {
    const bytes = writeInquiryFile(inquiry);
    expect(await parseInquiryFile(bytes)).toEqual({ file: inquiry, problem: null });
    expect(kindOfAchFile(bytes)).toBe('inquiry');
    expect((await parseAckFile(bytes)).file).toBeNull();
  });
});

it('files of other kinds are told apart by their first bytes', () => {
  expect(kindOfAchFile(Buffer.from('101 091000019'))).toBe('nacha');
  expect(kindOfAchFile(Buffer.from('hello'))).toBeNull();
  expect(kindOfAchFile(Buffer.alloc(0))).toBeNull();
});
