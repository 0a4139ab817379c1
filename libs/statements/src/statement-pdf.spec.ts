import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import type { PaymentLine, StatementLine } from './content.js';
import { renderStatement } from './statement-pdf.js';
import { bytesOf, type ReadPdf, readPdf, rendered, tagsOf } from './testing/read-pdf.js';
import { sampleLines, sampleStatementId, statementWith } from './testing/samples.js';
import { money } from './words.js';

const completed: PaymentLine = {
  kind: 'payment',
  at: new Date('2026-11-03T04:59:59.000Z'),
  paymentId: 'f47ac10b-58cc-4372-a567-0e02b2c3d479',
  externalPaymentId: 'INV-1',
  counterparty: 'Ana García',
  direction: 'OUTBOUND',
  status: 'COMPLETED',
  side: 'debit',
  amountMinor: 123_456,
  feeMinor: 25,
};
const hashOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const textOf = ({ pages }: ReadPdf) => pages.flat().join('\n');
const rowsOf = (pdf: ReadPdf) =>
  pdf.tags
    .flatMap((tag) => tagsOf(tag, 'TR'))
    .map(({ children }) => children.map(({ text }) => text));

it('names organization, originator and month, and shows the opening figures', async () => {
  const pdf = await rendered(statementWith([completed]));
  const text = textOf(pdf);
  expect(text).toContain('Harbor & Pine Property Management');
  expect(text).toContain('Lakeside Apartments LLC');
  expect(text).toContain('November 2026');
  expect(text).toContain('America/New_York');
  expect(text).toContain(sampleStatementId);
  expect(rowsOf(pdf)).toContainEqual([
    'Opening: payments in progress',
    '2',
    '300.00',
    '1',
    '123.45',
    '500,000.00',
  ]);
});

it("shows each kind of line with its date in the organization's zone, reference, status and amounts", async () => {
  const { paymentId, externalPaymentId, counterparty, amountMinor } = completed;
  const facts = { at: completed.at, paymentId, externalPaymentId, counterparty, amountMinor };
  const collected = {
    ...{ at: completed.at, collectionId: 'c0ffee00-0000-4000-8000-000000000000' },
    ...{ feesYear: 2026, feesMonth: 10, amountMinor: 5_000 },
  };
  const lines: StatementLine[] = [
    completed,
    { ...completed, externalPaymentId: null, side: 'credit', direction: 'INBOUND' },
    { ...completed, status: 'FAILED', side: null, feeMinor: 0, counterparty: null },
    {
      ...{
        kind: 'return',
        isLater: false,
        ...facts,
        side: 'credit',
        feeMinor: 1_500,
        returnReasonCode: 'R01',
      },
      ...{ keptMinor: 345, completedAt: new Date('2026-09-14T12:00:00.000Z') },
    },
    {
      kind: 'return',
      isLater: true,
      ...facts,
      side: 'debit',
      feeMinor: 0,
      returnReasonCode: null,
      keptMinor: 0,
      completedAt: null,
    },
    { kind: 'collection', ...collected },
    { kind: 'collection_return', ...collected, returnReasonCode: 'R09' },
  ];
  const rows = rowsOf(await rendered(statementWith(lines)));
  expect(rows.slice(-lines.length - 1)).toEqual([
    ['Nov 2', 'Ana García', 'INV-1', 'Completed', '', '1,234.56', '0.25'],
    ['Nov 2', 'Ana García', 'f47ac10b', 'Completed', '1,234.56', '', '0.25'],
    ['Nov 2', '(no name) 1,234.56 out, no money moved', 'INV-1', 'Failed', '', '', ''],
    [
      'Nov 2',
      'Ana García Return (R01) of the payment of Sep 14, 2026, less 3.45 that banks kept',
      ...['INV-1', 'Returned', '1,234.56', '', '15.00'],
    ],
    [
      ...['Nov 2', 'Ana García Another return of a payment in doubt', 'INV-1', 'Returned'],
      ...['', '1,234.56', ''],
    ],
    ['Nov 2', 'Collection of fees Fees of October 2026', 'c0ffee00', 'Collected', '', '50.00', ''],
    [
      ...['Nov 2', 'Return (R09) of a collection of fees Fees of October 2026', 'c0ffee00'],
      ...['Returned', '50.00', '', ''],
    ],
    ['', 'Total', '', '', '2,519.12', '2,519.12', '15.50'],
  ]);
});

it('adds up what it lists: in the summary of the first page, and below the last line', async () => {
  const lines = [...sampleLines(400)];
  const pdf = await rendered(statementWith(lines));
  const sum = (side: string) =>
    lines
      .filter((line) => sideOf(line) === side)
      .reduce((total, { amountMinor }) => total + amountMinor, 0);
  const fees = lines.reduce((total, line) => total + ('feeMinor' in line ? line.feeMinor : 0), 0);
  const total = ['', 'Total', '', '', money(sum('credit')), money(sum('debit')), money(fees)];
  expect(rowsOf(pdf).at(-1)).toEqual(total);
  const count = (side: string) => String(lines.filter((line) => sideOf(line) === side).length);
  expect(rowsOf(pdf)).toContainEqual([
    'Total moved',
    count('credit'),
    money(sum('credit')),
    count('debit'),
    money(sum('debit')),
    '',
  ]);
});

it('refuses to print totals that its lines do not give', async () => {
  const good = statementWith([completed]);
  const lie = { ...good.totals(), paymentsOut: { count: 1, amountMinor: 123_457 } };
  const wrong = { ...statementWith([completed]), totals: () => lie };
  await expect(bytesOf(renderStatement(wrong))).rejects.toThrow(
    'the lines give paymentsOut 123456 (1), the totals say 123457 (1)',
  );
  const { closing, ...sums } = good.totals();
  const unpaid = { ...closing, feesDueMinor: closing.feesDueMinor + 1 };
  const totals = () => ({
    ...sums,
    paymentsOut: { count: 1, amountMinor: 123_456 },
    fees: { count: 1, amountMinor: 25 },
    closing: unpaid,
  });
  await expect(bytesOf(renderStatement({ ...statementWith([completed]), totals }))).rejects.toThrow(
    'leave fees of 50000025 due',
  );
});

it('says that a month had no activity', async () => {
  const pdf = await rendered(statementWith([]));
  expect(pdf.pages).toHaveLength(1);
  expect(textOf(pdf)).toContain('No activity in November 2026.');
  expect(textOf(pdf)).not.toContain('Payments and movements');
});

it('repeats the headers of the columns and says the page of how many on each page', async () => {
  const pdf = await rendered(statementWith(sampleLines(400)));
  const { pages } = pdf;
  expect(pages.length).toBeGreaterThan(5);
  for (const [at, lines] of pages.entries()) {
    expect(lines.join(' ')).toContain(`Page ${at + 1} of ${pages.length}`);
    expect(lines).toEqual(expect.arrayContaining(['Date', 'Reference', 'Money in', 'Money out']));
  }
  const listed = rowsOf(pdf).filter(([date]) => date?.startsWith('Nov ') === true);
  expect(listed).toHaveLength(400);
});

it('is tagged: document, headings, tables whose cells have headers, language, title and bookmarks', async () => {
  const pdf = await rendered(statementWith(sampleLines(100)));
  expect(pdf).toMatchObject({
    isTagged: true,
    language: 'en-US',
    info: { Title: 'Statement of November 2026', Author: 'Harbor & Pine Property Management' },
    bookmarks: ['Statement of November 2026', 'Payments and movements'],
  });
  const [first, second] = pdf.tags;
  const roles = (role: string) => tagsOf(first, role).map(({ text }) => text);
  expect(tagsOf(first, 'Document')).toHaveLength(1);
  expect(roles('H1')).toEqual(['Statement November 2026']);
  expect(roles('H2')).toEqual(['Payments and movements']);
  expect(tagsOf(first, 'Table')).toHaveLength(2);
  expect(roles('TH')).toEqual(
    expect.arrayContaining(['Fees due', 'Total moved', 'Date', 'Details', 'Fee']),
  );
  // On later pages the header is repeated for the eye, and not for the ear.
  const read = tagsOf(second, 'TH').filter(({ text }) => text !== '');
  expect(read).toEqual([]);
  expect(tagsOf(second, 'TR').length).toBeGreaterThan(20);
});

it('gives the same bytes in any process, time zone and language', async () => {
  // From the sources, as Jest runs them: nothing needs to be built.
  const script = `
    import { createHash } from 'node:crypto';
    import { registerHooks } from 'node:module';
    const typed = (name) => (name.startsWith('.') ? name.replace(/\\.js$/, '.ts') : name);
    const isOurs = ({ parentURL = '' }) => !parentURL.includes('node_modules');
    registerHooks({ resolve: (name, context, next) => next(isOurs(context) ? typed(name) : name, context) });
    const { renderStatement } = await import('./statement-pdf.js');
    const { sampleLines, statementWith } = await import('@pis/statements/testing');
    const hash = createHash('sha256');
    for await (const block of renderStatement(statementWith(sampleLines(60)))) hash.update(block);
    console.log(hash.digest('hex'));`;
  const flags = ['--conditions=@pis/source', '--input-type=module', '--no-warnings'];
  const elsewhere = (TZ: string, LANG: string) =>
    execFileSync(process.execPath, [...flags, '-e', script], {
      env: { ...process.env, NODE_OPTIONS: '', TZ, LANG, LC_ALL: LANG },
      cwd: import.meta.dirname,
      encoding: 'utf8',
    }).trim();
  const here = hashOf(await bytesOf(renderStatement(statementWith(sampleLines(60)))));
  expect(elsewhere('Asia/Tokyo', 'ar_EG.UTF-8')).toBe(here);
  expect(elsewhere('America/Los_Angeles', 'de_DE.UTF-8')).toBe(here);
});

it('gives the bytes that it always gave', async () => {
  // A new hash means that statements cannot be made again with their hash. Change it only on purpose, and say so.
  const here = hashOf(await bytesOf(renderStatement(statementWith(sampleLines(60)))));
  expect(here).toBe('fbd714d047424fbce3150c2235659077f8b6167c88a770ca2d54e91c4dc296bc');
});

it('keeps a statement apart from one that differs in a cent', async () => {
  const one = await bytesOf(renderStatement(statementWith([completed])));
  const other = await bytesOf(
    renderStatement(statementWith([{ ...completed, amountMinor: 123_457 }])),
  );
  expect(hashOf(one)).not.toBe(hashOf(other));
});

it('writes names into the metadata as text, not as markup', async () => {
  const organizationName = 'A & B </rdf:li><x> "Bank" \u202E(株)';
  const bytes = await bytesOf(renderStatement(statementWith([], { organizationName })));
  const xml = bytes.toString('latin1');
  expect(xml).not.toContain('</rdf:li><x>');
  expect(xml).toContain('A &#38; B &#60;/rdf:li&#62;');
  expect((await readPdf(bytes)).info).toMatchObject({ Author: 'A & B </rdf:li><x> "Bank" (株)' });
});

function sideOf(line: StatementLine): 'credit' | 'debit' | null {
  if (line.kind === 'collection') return 'debit';
  return line.kind === 'collection_return' ? 'credit' : line.side;
}
