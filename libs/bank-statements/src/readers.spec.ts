/** Readers of statement files: what is written is read back the same, and hostile files are refused with their line. */
import { xmlProblems } from '@pis/bank-rails/testing';
import { generator } from '@pis/local-servers/testing';
import { bai2Limits } from './bai2-records.js';
import { writeBai2 } from './bai2-writer.js';
import { writeCamt053 } from './camt053-writer.js';
import { type StatementPart, StatementRefused } from './statement-parts.js';
import { readStatement } from './statement-reader.js';
import { accountsOf, sampleFile, type SampleFile, type SampleShape } from './testing.js';
import { xmlElementLimits } from './xml-elements.js';

const formats = { BAI2: writeBai2, 'camt.053': writeCamt053 } as const;
type Format = keyof typeof formats;
const names: readonly Format[] = ['BAI2', 'camt.053'];
const seeds = Array.from({ length: 40 }, (_, index) => index + 1);
const fuzzLimitMs = 120_000;

describe.each(names)('%s', (format) => {
  it.each(seeds)('is read as it was written, in pieces of any size (seed %i)', async (seed) => {
    const random = generator(seed);
    const sample = await sampleFile(random, shapeOf(format));
    const text = await written(format, sample);
    const parts = await partsOf(text, () => 1 + random(random(4) === 0 ? 3 : 2_000));
    expect(parts.map(withoutLine)).toEqual(expectedParts(format, sample));
  });

  it('a file whose lines end with carriage return and line feed is the same', async () => {
    const sample = await sampleFile(generator(5), shapeOf(format));
    const text = await written(format, sample);
    const parts = await partsOf(text.replaceAll('\n', '\r\n'), () => 7);
    expect(parts.map(withoutLine)).toEqual(expectedParts(format, sample));
  });

  it('says where an entry that was taken out is missing', async () => {
    const text = await goodText(format);
    const cut = text.replace(format === 'BAI2' ? /^16,.*\n88,.*\n/m : /^<Ntry>.*<\/Ntry>\n/m, '');
    const said = contradictions(await partsOf(cut));
    expect(said.join()).toMatch(/number of (credits|debits)/);
    expect(said.join()).toMatch(/sum of (credits|debits)/);
    expect(said).toContain('closing balance');
    expect(contradictions(await partsOf(text))).toEqual([]);
  });

  it('refuses a file that was cut anywhere', async () => {
    const text = await goodText(format);
    const random = generator(11);
    for (let turn = 0; turn < 100; turn += 1) {
      const end = random(text.trimEnd().length - 1);
      // A final slash is not needed.
      if (format === 'BAI2' && /^99,.*\d$/m.test(text.slice(0, end))) continue;
      await expect(partsOf(text.slice(0, end))).rejects.toThrow(StatementRefused);
    }
  });

  it(
    'a changed file is read or refused, and never breaks the reader',
    async () => {
      const random = generator(2_026);
      const text = await goodText(format);
      for (let turn = 0; turn < 800; turn += 1) {
        const changed = mutated(text, random);
        try {
          await partsOf(changed, () => 1 + random(5_000));
        } catch (error) {
          if (!(error instanceof StatementRefused)) throw new Error(changed, { cause: error });
          expect(error.line).toBeGreaterThan(0);
        }
      }
    },
    fuzzLimitMs,
  );
});

it(
  'no changed camt.053 is read that libxml2 refuses as XML',
  async () => {
    const random = generator(1_953);
    const text = await goodText('camt.053');
    const read: string[] = [];
    for (let turn = 0; turn < 800; turn += 1) {
      const changed = mutated(text, random);
      if (await isRead(changed)) read.push(changed);
    }
    expect(read.length).toBeGreaterThan(20);
    const problems = await xmlProblems(read);
    expect(problems.filter((problem) => problem !== null)).toEqual([]);
  },
  fuzzLimitMs,
);

const endless = 'x'.repeat(64 * 1_024);
const camtHead = '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt>';

it.each([
  ['nothing', '', 1, /neither/],
  ['a picture', '\u0089PNG', 1, /neither/],
  [
    'an entity bomb',
    '<?xml version="1.0"?>\n<!DOCTYPE d [<!ENTITY a "aa">]><Document/>',
    2,
    /document type/,
  ],
  ['an external DTD', '<!DOCTYPE d SYSTEM "file:///etc/passwd"><Document/>', 1, /document type/],
  ['an entity of nobody', `${camtHead}\n<GrpHdr><MsgId>&x;</MsgId></GrpHdr>`, 2, /well-formed/],
  ['a processing instruction', `${camtHead}\n\n<?php exit ?>`, 3, /processing/],
  ['another encoding', '<?xml version="1.0" encoding="UTF-16"?><Document/>', 1, /encoding/],
  [
    'another message',
    '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pacs.008.001.08"><x/></Document>',
    1,
    /no camt/,
  ],
  ['a document without a namespace', '<Document><BkToCstmrStmt>', 1, /no camt/],
  [
    'two roots',
    `${camtHead}<GrpHdr/></BkToCstmrStmt></Document><Document/>`,
    1,
    /more than one|empty/,
  ],
  ['crossed tags', `${camtHead}</Document>`, 1, /well-formed/],
  ['elements nested without end', `${camtHead}<GrpHdr>${'<a>'.repeat(50_000)}`, 1, /too early/],
  [
    'elements nested too deep',
    `${camtHead}<GrpHdr>${'<a>'.repeat(100)}${'</a>'.repeat(100)}</GrpHdr>`,
    1,
    /levels/,
  ],
  ['text between elements', `${camtHead}\nhello<GrpHdr/>`, 1, /well-formed/],
  ['a double hyphen in a comment', `${camtHead}<!-- a -- b --><GrpHdr/>`, 1, /well-formed/],
  ['a file that never names its version', '01,A,B,261123,0000,1,,,1/', 1, /version/],
  [
    'a transaction before its account',
    '01,A,B,261123,0000,1,,,2/\n16,169,100,,a,b/',
    2,
    /not expected/,
  ],
  ['a continuation of nothing', '01,A,B,261123,0000,1,,,2/'.replace('01', '88'), 1, /neither/],
  ['a decimal amount', bai2With('16,169,1.00,,a,b/'), 4, /whole number/],
  ['a day that does not exist', bai2With('16,169,100,V,260231,,a,b/'), 4, /YYMMDD/],
  ['a funds type that does not exist', bai2With('16,169,100,Q,a,b/'), 4, /funds type/],
  ['a negative transaction', bai2With('16,169,-100,,a,b/'), 4, /not possible/],
  ['an amount beyond all limits', bai2With(`16,169,${'9'.repeat(18)},,a,b/`), 4, /not possible/],
  ['a record of another type', bai2With('77,169/'), 4, /not known/],
  ['a control character', bai2With('16,169,100,,a\u0000,b/'), 4, /control character/],
  ['a line behind the trailer', '01,A,B,261123,0000,1,,,2/\n99,0,0,2/\n16,1/', 3, /behind/],
  [
    'a group that deletes another one',
    '01,A,B,261123,0000,1,,,2/\n02,A,B,2,261123,,USD,2/',
    2,
    /status/,
  ],
])('refuses %s', async (_case, text, line, reason) => {
  const refused = await refusal(partsOf(text));
  expect(refused.reason).toMatch(reason);
  expect(refused.line).toBe(line);
});

it.each([
  ['a line', '01,', bai2Limits.lineMaxBytes],
  [
    'a record',
    '01,A,B,261123,0000,1,,,2/\n',
    bai2Limits.recordMax,
    '88,xxxxxxxxxxxxxxxxxxxxxxxxx\n',
  ],
  ['an XML declaration', '<?xml version="1.0" ', 64 * 1_024],
  ['a tag', `${camtHead}<GrpHdr a="`, 2 * 1_024 * 1_024],
  ['a text', `${camtHead}<GrpHdr>`, 2 * 1_024 * 1_024],
  ['an element', `${camtHead}<GrpHdr>`, xmlElementLimits.charactersMax, '<MsgId>abc</MsgId>'],
])('stops reading %s that never ends', async (_case, begin, maxBytes, repeated = endless) => {
  let given = 0;
  async function* endlessly() {
    yield await Promise.resolve(Buffer.from(begin));
    const chunk = Buffer.from(repeated.repeat(Math.ceil(endless.length / repeated.length)));
    for (;;) {
      given += chunk.length;
      yield chunk;
    }
  }
  await refusal(collected(readStatement(endlessly())));
  expect(given).toBeLessThan(2 * maxBytes + 4 * endless.length);
});

it('reads a camt.053 of another bank: a prefix, an envelope, version 2, one booking of two payments', async () => {
  const text = `<env:Message xmlns:env="urn:bank"><env:Head>x</env:Head>
    <c:Document xmlns:c="urn:iso:std:iso:20022:tech:xsd:camt.053.001.02"><c:BkToCstmrStmt>
    <c:GrpHdr><c:MsgId>M1</c:MsgId><c:CreDtTm>2026-11-23T08:00:00Z</c:CreDtTm></c:GrpHdr>
    <c:Stmt><c:Id>S1</c:Id><c:Acct><c:Id><c:Othr><c:Id>12345</c:Id></c:Othr></c:Id></c:Acct>
    <c:Ntry><c:Amt Ccy="USD">30</c:Amt><c:CdtDbtInd>DBIT</c:CdtDbtInd><c:Sts>BOOK</c:Sts>
      <c:BookgDt><c:DtTm>2026-11-23T10:00:00</c:DtTm></c:BookgDt><c:BkTxCd/>
      <c:NtryDtls><c:TxDtls><c:Refs><c:EndToEndId>E1</c:EndToEndId></c:Refs>
        <c:AmtDtls><c:TxAmt><c:Amt Ccy="USD">10.5</c:Amt></c:TxAmt></c:AmtDtls></c:TxDtls>
      <c:TxDtls><c:Refs><c:EndToEndId>NOTPROVIDED</c:EndToEndId><c:TxId>091000010000001</c:TxId></c:Refs>
        <c:AmtDtls><c:TxAmt><c:Amt Ccy="USD">19.50</c:Amt></c:TxAmt></c:AmtDtls></c:TxDtls></c:NtryDtls></c:Ntry>
    <c:Ntry><c:Amt Ccy="EUR">1</c:Amt><c:CdtDbtInd>CRDT</c:CdtDbtInd><c:Sts>BOOK</c:Sts><c:BkTxCd/></c:Ntry>
    </c:Stmt></c:BkToCstmrStmt></c:Document></env:Message>`;
  const parts = await partsOf(text);
  const shared = { side: 'debit', status: 'booked', bookedOn: '2026-11-23', isReturn: false };
  expect(parts.slice(2)).toEqual([
    {
      kind: 'entry',
      line: 5,
      entry: expect.objectContaining({ ...shared, reference: 'E1', amountMinor: 1_050 }),
    },
    {
      kind: 'entry',
      line: 5,
      entry: expect.objectContaining({
        ...shared,
        traceNumber: '091000010000001',
        amountMinor: 1_950,
      }),
    },
    { kind: 'foreign', line: 11, currencyCode: 'EUR' },
  ]);
});

it('reads on behind a transaction in another currency, and takes the day that the bank wrote', async () => {
  const transaction = (id: string, currency: string, amount: string) =>
    `<TxDtls><Refs><EndToEndId>${id}</EndToEndId></Refs><Amt Ccy="${currency}">${amount}</Amt></TxDtls>`;
  const entry = (transactions: string) =>
    `<Ntry><Amt Ccy="USD">30</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts>BOOK</Sts>
    <BookgDt><DtTm>2026-11-23T23:30:00-05:00</DtTm></BookgDt><BkTxCd/><NtryDtls>${transactions}</NtryDtls></Ntry>`;
  const text = `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt>
    <GrpHdr><MsgId>M1</MsgId><CreDtTm>2026-11-24T08:00:00Z</CreDtTm></GrpHdr>
    <Stmt><Id>S1</Id><Acct><Id><Othr><Id>12345</Id></Othr></Id></Acct>
    ${entry(transaction('E1', 'USD', '10') + transaction('E2', 'KWD', '6.125'))}
    ${entry(transaction('E3', 'USD', '10') + transaction('E4', 'USD', '20'))}
    </Stmt></BkToCstmrStmt></Document>`;
  const found = (await partsOf(text))
    .slice(2)
    .map((part) =>
      part.kind === 'entry'
        ? [part.entry.reference, part.entry.amountMinor, part.entry.bookedOn]
        : part,
    );
  expect(found).toEqual([
    ['E1', 1_000, '2026-11-23'],
    {
      ...{ kind: 'contradiction', line: 4, what: 'currency of a transaction in an entry' },
      ...{ stated: 'USD', found: 'KWD' },
    },
    ['E3', 1_000, '2026-11-23'],
    ['E4', 2_000, '2026-11-23'],
  ]);
});

it('shows no character that controls a terminal', async () => {
  const text = (await goodText('camt.053')).replace(
    /<EndToEndId>[^<]*/,
    '<EndToEndId>A\u009b2JB\u202e',
  );
  const references = (await partsOf(text)).flatMap((part) =>
    part.kind === 'entry' ? [part.entry.reference] : [],
  );
  expect(references[0]).toBe('A?2JB?');
});

it('refuses a date that no database takes', async () => {
  const text = (await goodText('camt.053')).replace(
    /<BookgDt><Dt>[^<]*/,
    '<BookgDt><Dt>0000-01-01',
  );
  await refusal(partsOf(text));
});

it('reads a BAI2 of another bank: padded lines, continued fields, texts in other words', async () => {
  const text = [
    '01,042000013,ABCCORP ,261123,0506,1,80,,2/'.padEnd(80),
    '02,ABCCORP,042000013,1,261122,2359,,2/',
    '03,273101322728,,010,00000000010000,,,',
    '88,015,+00000000009000,,/',
    '16,557,0000000000500,S,500,0,0/',
    '88,BANKREF1,CUSTREF1/',
    '88,RETURNED ITEM R01',
    '88,TRACE 091000010000007 X/',
    '16,495,500,,BANKREF2,CUSTREF2,OUTGOING WIRE, TO A/B',
    '16,890,,,,,A NOTE WITHOUT MONEY',
    '49,20000,9/',
    '98,20000,1,11/',
    '99,20000,1,13/',
  ].join('\r\n');
  const parts = await partsOf(text);
  const shared = { side: 'debit', status: 'booked', bookedOn: '2026-11-22', amountMinor: 500 };
  expect(parts.slice(2).map(withoutLine)).toEqual([
    {
      kind: 'entry',
      entry: {
        ...{ ...shared, bankReference: 'BANKREF1', reference: 'CUSTREF1', rail: 'ACH' },
        ...{ isReturn: true, returnReasonCode: null, traceNumber: '091000010000007' },
      },
    },
    {
      kind: 'entry',
      entry: {
        ...{ ...shared, bankReference: 'BANKREF2', reference: 'CUSTREF2', rail: null },
        ...{ isReturn: false, returnReasonCode: null, traceNumber: null },
      },
    },
  ]);
});

function shapeOf(format: Format): SampleShape {
  return { accountsMax: 4, entriesMax: 12, pending: format === 'camt.053' };
}

async function goodText(format: Format): Promise<string> {
  const shape = { accountsMax: 1, entriesMax: 12, pending: false };
  return written(format, await sampleFile(generator(7), shape));
}

async function written(format: Format, sample: SampleFile): Promise<string> {
  let text = '';
  for await (const chunk of formats[format](sample.file, accountsOf(sample))) text += chunk;
  return text;
}

/** What the reader should give. BAI2 says less. */
function expectedParts(format: Format, { file, accounts }: SampleFile): unknown[] {
  const { fileId, createdAt, sender, receiver } = file;
  const isBai2 = format === 'BAI2';
  const parts = accounts.flatMap(({ account, entries }): unknown[] => {
    const { accountId, accountName, statementId, from, to, openingMinor } = account;
    const said = isBai2
      ? { accountName: null, statementId: null, from: null }
      : { accountName, statementId, from };
    return [
      { kind: 'account', account: { accountId, to, openingMinor, ...said } },
      ...entries.map((entry) => ({ kind: 'entry', entry })),
    ];
  });
  const its = { format, fileId, createdAt, sender: isBai2 ? sender : null, receiver };
  return [{ kind: 'file', file: its }, ...parts];
}

function withoutLine({ line, ...part }: StatementPart): unknown {
  expect(line).toBeGreaterThan(0);
  return part;
}

function contradictions(parts: readonly StatementPart[]): string[] {
  return parts.flatMap((part) => (part.kind === 'contradiction' ? [part.what] : []));
}

function partsOf(text: string, size: () => number = () => 65_536): Promise<StatementPart[]> {
  async function* chunks() {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; ) {
      const length = size();
      yield await Promise.resolve(bytes.subarray(at, at + length));
      at += length;
    }
  }
  return collected(readStatement(chunks()));
}

async function collected(parts: AsyncIterable<StatementPart>): Promise<StatementPart[]> {
  const all: StatementPart[] = [];
  for await (const part of parts) all.push(part);
  return all;
}

async function isRead(text: string): Promise<boolean> {
  try {
    await partsOf(text);
    return true;
  } catch (error) {
    if (error instanceof StatementRefused) return false;
    throw error;
  }
}

async function refusal(reading: Promise<unknown>): Promise<StatementRefused> {
  const error: unknown = await reading.then(
    () => new Error('it was read'),
    (reason: unknown) => reason,
  );
  if (error instanceof StatementRefused) return error;
  throw error;
}

function bai2With(record: string): string {
  return `01,A,B,261123,0000,1,,,2/\n02,A,B,1,261123,,USD,2/\n03,ACC,USD,/\n${record}\n`;
}

const marks = [
  ...['<', '>', '/', '&', '"', "'", ',', '\n', '-', '--', '<!--', '-->', '<![CDATA[', ']]>', '?>'],
  ...[
    '&amp;',
    '&#65;',
    '&#0;',
    '\u0000',
    '\u0007',
    '\ufffe',
    '<a/>',
    '<Ntry/>',
    'xmlns:a="b"',
    '88,',
  ],
  ...['9999999999', '0', '', ' ', '\t', '\r', ':', '<?x?>', '<!DOCTYPE a>', '16,169,1,,', 'é'],
];

/** One to three places are replaced, removed or doubled. */
function mutated(text: string, random: (limit: number) => number): string {
  let changed = text;
  const changes = 1 + random(3);
  for (let turn = 0; turn < changes; turn += 1) {
    const at = random(changed.length);
    const length = random(4) === 0 ? random(200) : random(3);
    const mark = marks[random(marks.length)] ?? '';
    const doubled = random(5) === 0 ? changed.slice(at, at + random(100)) : mark;
    changed = changed.slice(0, at) + doubled + changed.slice(at + length);
  }
  return changed;
}
