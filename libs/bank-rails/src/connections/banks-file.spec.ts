/** PIS_BANKS_FILE: what is read, and how each mistake is told. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { defaultCutoffs } from '../calendar/rail-hours.js';
import { bankHosts } from './bank-hosts.js';
import { BanksFileInvalid, railsOf, railsWithoutBank, readBanksFile } from './banks-file.js';

const sample = path.resolve(import.meta.dirname, '../../../../deploy/banks.example.yaml');
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'pis-banks-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
function fileOf(text: string): string {
  const file = path.join(folder, `${(files += 1)}.yaml`);
  writeFileSync(file, text);
  return file;
}
const sampleText = readFileSync(sample, 'utf8');
const read = (text: string, environment: 'sandbox' | 'production' = 'production') =>
  readBanksFile(fileOf(text), { environment });
async function problemsOf(
  text: string,
  environment: 'sandbox' | 'production' = 'production',
): Promise<readonly string[]> {
  const error = await read(text, environment).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(BanksFileInvalid);
  return (error as BanksFileInvalid).problems;
}
/** The sample with one text in place of another that it holds once. */
function changed(from: string, to: string): string {
  expect(sampleText.split(from)).toHaveLength(2);
  return sampleText.replace(from, to);
}
const lineOf = (text: string, fragment: string) =>
  text.slice(0, text.indexOf(fragment)).split('\n').length;

it('reads the sample of the documentation', async () => {
  const banks = await readBanksFile(sample, { environment: 'production' });
  expect(banks.connections).toMatchObject([
    {
      bank: 'first-bank',
      name: 'first-bank-ach',
      rails: ['ACH'],
      protocol: {
        kind: 'sftp',
        host: 'sftp.first-bank.example',
        credentials: {
          privateKey: { file: '/run/secrets/first-bank-sftp-key' },
          passphrase: { variable: 'FIRST_BANK_SFTP_PASSPHRASE' },
        },
        pollMs: 60_000,
        inboundSettleMs: 10_000,
      },
      terms: { submissionInFlightMaxMs: 86_400_000, referenceMemoryMs: 7_776_000_000 },
      cutoffs: { ...defaultCutoffs, sameDay: ['10:00', '14:15', '16:15'], standard: '19:00' },
      ach: {
        odfiRoutingNumber: '121000248',
        consumerDebits: 'WEB',
        inquiries: false,
        prenotes: false,
      },
      iso: null,
    },
    {
      bank: 'second-bank',
      rails: ['FEDNOW', 'RTP', 'FEDWIRE', 'SWIFT'],
      protocol: { kind: 'https', baseUrl: 'https://rails.second-bank.example/v1', pollMs: 2_000 },
      ach: null,
      iso: { routingNumber: '026009593', bic: 'SCNDUS33', participantId: null },
    },
  ]);
  expect(railsOf(banks)).toEqual(['ACH', 'FEDNOW', 'RTP', 'FEDWIRE', 'SWIFT']);
  expect(railsWithoutBank(banks)).toEqual([]);
});

it('sends prenotes only where the file says so', async () => {
  const prenotesIn = async (text: string) => (await read(text)).connections[0]?.ach?.prenotes;
  expect(await prenotesIn(changed('prenotes: false', 'prenotes: true'))).toBe(true);
  expect(await prenotesIn(changed('          prenotes: false\n', ''))).toBe(false);
  expect(await problemsOf(changed('prenotes: false', 'prenotes: sometimes'))).toEqual([
    expect.stringContaining('banks.0.connections.0.ach.prenotes'),
  ]);
});

it('knows where each bank is reached', async () => {
  const hosts = [
    { host: 'sftp.first-bank.example', port: 22 },
    { host: 'rails.second-bank.example', port: 443 },
  ];
  expect(bankHosts(await read(sampleText))).toEqual(hosts);
  const url = 'baseUrl: https://rails.second-bank.example/v1';
  const other = await read(changed(url, 'baseUrl: https://[2001:db8::7]:8443/v1'));
  expect(bankHosts(other)[1]).toEqual({ host: '2001:db8::7', port: 8443 });
});

it('knows which rails no bank takes', async () => {
  const banks = await read(changed('[FEDNOW, RTP, FEDWIRE, SWIFT]', '[RTP]'));
  expect(railsOf(banks)).toEqual(['ACH', 'RTP']);
  expect(railsWithoutBank(banks)).toEqual(['FEDNOW', 'FEDWIRE', 'SWIFT']);
});

it.each<[string, string, string, string]>([
  [
    'two connections of one rail',
    '[FEDNOW, RTP, FEDWIRE, SWIFT]',
    '[FEDNOW, FEDNOW]',
    'goes over second-bank-messages already',
  ],
  [
    'two connections of one name',
    'name: second-bank-messages',
    'name: first-bank-ach',
    'is the name of another connection',
  ],
  [
    'a name of which the keys of archived files begin',
    'name: second-bank-messages',
    'name: file',
    'banks.1.connections.0.name: file is reserved: choose another name',
  ],
  [
    'another rail than ACH over SFTP',
    'rails: [ACH]',
    'rails: [ACH, CARDS]',
    'banks.0.connections.0.rails.1',
  ],
  ['an unknown field', 'username: acme', 'username: acme\n          user: acme', 'user'],
  [
    'a secret in the file',
    'privateKey: { file: /run/secrets/first-bank-sftp-key }',
    'privateKey: hunter2',
    'banks.0.connections.0.sftp.privateKey',
  ],
  [
    'a secret in two places',
    '{ file: /run/secrets/first-bank-sftp-key }',
    '{ file: /a, variable: B }',
    'must have either file or variable',
  ],
  [
    'two credentials',
    '{ variable: FIRST_BANK_SFTP_PASSPHRASE }',
    '{ variable: A }\n          password: { variable: B }',
    'must have either privateKey',
  ],
  [
    'an unpinned host',
    'SHA256:uNiVztksCsDhcc0u9e8BrrJXVGDKzeaCl4W2lZ1iWkE',
    '"*"',
    'is neither SHA256:',
  ],
  [
    'HTTP without TLS',
    'https://rails.second-bank.example/v1',
    'http://rails.second-bank.example/v1',
    'banks.1.connections.0.https.baseUrl',
  ],
  ['SWIFT without a BIC', 'bic: SCNDUS33', 'bic: null', 'is required for SWIFT'],
  ['a time of day that is none', "standard: '19:00'", "standard: '7 pm'", 'must be HH:MM'],
  [
    'a cutoff after the deadline of the rail',
    "fedwire: '18:15'",
    "fedwire: '23:00'",
    'fedwire: later than',
  ],
  [
    'a routing number without quotes',
    "odfiRoutingNumber: '121000248'",
    'odfiRoutingNumber: 121000248',
    'banks.0.connections.0.ach.odfiRoutingNumber',
  ],
  ['a key that is there twice', 'port: 22', 'port: 22\n          port: 23', 'DUPLICATE_KEY'],
])('refuses %s, and names the line', async (_what, from, to, expected) => {
  const text = changed(from, to);
  const [problem = '', ...rest] = await problemsOf(text);
  expect(problem).toContain(expected);
  expect(rest.length).toBeLessThan(3);
  const line = Number(/^line (\d+): /.exec(problem)?.[1]);
  expect(Math.abs(line - lineOf(sampleText, from))).toBeLessThan(12);
  expect(problem).not.toContain('hunter2');
});

it('tells all mistakes at once', async () => {
  const text = changed("standard: '19:00'", "standard: '7 pm'").replace('port: 22', 'port: 0');
  expect(await problemsOf(text)).toHaveLength(2);
});

const simulator = `banks:
  - name: simulator
    connections:
      - name: simulator
        rails: [ACH, FEDNOW, RTP, FEDWIRE, SWIFT]
        json: { baseUrl: 'http://127.0.0.1:3007' }
        terms: { submissionInFlightMaxMs: 1000, referenceMemoryMs: 100000 }
`;

it('takes the protocol of the simulator in the sandbox, and never in production', async () => {
  expect((await read(simulator, 'sandbox')).connections).toMatchObject([
    { protocol: { kind: 'json', baseUrl: 'http://127.0.0.1:3007' }, ach: null, iso: null },
  ]);
  expect(await problemsOf(simulator)).toEqual([
    'line 6: banks.0.connections.0.json: is for tests, and not for production',
  ]);
});

it('takes a bank that is always open in the sandbox, and never in production', async () => {
  const text = changed("sameDay: ['10:00', '14:15', '16:15']", 'sameDay: [always]');
  const [ach] = (await read(text, 'sandbox')).connections;
  expect(ach?.cutoffs.sameDay).toEqual(['always']);
  expect(await problemsOf(text)).toEqual([
    expect.stringMatching(
      /^line \d+: banks\.0\.connections\.0\.cutoffs: always is for the sandbox/,
    ),
  ]);
});

it('names a file that cannot be read', async () => {
  const missing = path.join(folder, 'missing.yaml');
  const reading = readBanksFile(missing, { environment: 'production' });
  await expect(reading).rejects.toThrow(/missing\.yaml:\n {2}cannot be read/);
});
