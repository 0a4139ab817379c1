/**
 * Adds an aggregate, a topic, a category of events and so on to a copy of the sources, and compiles it: the
 * compiler must name each place that has to know the addition.
 */
import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';

interface Addition {
  readonly what: string;
  /** The text after `after` in the file is new. */
  readonly file: string;
  readonly after: string;
  readonly text: string;
  /** The places of the expected errors, and their texts. */
  readonly leadsTo: readonly (readonly [file: string, message: RegExp])[];
}

const additions: readonly Addition[] = [
  {
    what: 'an aggregate',
    file: 'libs/domain/src/categories.ts',
    after: "  'contactIdentity',\n",
    text: "  'invoice',\n",
    leadsTo: [
      ['libs/integration/src/public-facts.ts', /invoice/],
      ['libs/domain/src/personal-data.ts', /invoice/],
      ['libs/read-models/src/projected-streams.ts', /invoice/],
    ],
  },
  {
    what: 'a fact of a public aggregate',
    file: 'libs/domain/src/contact/contact.ts',
    after: 'export type ContactEvent =\n',
    text: "  | DomainEvent<'ContactArchived', Record<string, never>>\n",
    leadsTo: [
      ['libs/domain/src/contact/contact.ts', /ContactArchived/],
      ['libs/domain/src/personal-data.ts', /ContactArchived/],
      ['libs/read-models/src/directory.projection.ts', /ContactArchived|never/],
      ['libs/integration/src/public-facts.ts', /ContactArchived/],
    ],
  },
  {
    what: 'a field of a party',
    file: 'libs/domain/src/party.ts',
    after: 'export interface PaymentParty extends Erasable {\n',
    text: '  readonly dateOfBirth: string;\n',
    leadsTo: [['libs/domain/src/personal-data.ts', /dateOfBirth/]],
  },
  {
    what: 'a topic',
    file: 'libs/contracts/src/topics.ts',
    after: "  statements: 'pis.statement-events.v1',\n",
    text: "  refunds: 'pis.refund-events.v1',\n",
    leadsTo: [
      ['libs/contracts/src/topics.ts', /pis\.refund-events\.v1/],
      ['libs/contracts/src/integration-events.ts', /EventsByTopic/],
      ['libs/integration/src/public-facts.ts', /pis\.refund-events\.v1/],
    ],
  },
  {
    what: 'a public category of events',
    file: 'libs/domain/src/webhook-endpoints/webhook-endpoints.ts',
    after: 'export type EventType =',
    text: " 'mandate.signed' |",
    leadsTo: [
      ['libs/domain/src/webhook-endpoints/webhook-endpoints.ts', /mandate/],
      ['libs/webhooks/src/envelope.ts', /mandate/],
      ['libs/webhooks/src/retry-schedule.ts', /mandate/],
    ],
  },
  {
    what: 'a notification of the bank',
    file: 'libs/bank-rails/src/bank-connection.ts',
    after: "export const bankNotificationTypes = [\n  'confirmed',",
    text: " 'frozen',",
    leadsTo: [['apps/rail-executor/src/notification-recorder.ts', /frozen/]],
  },
  {
    what: 'a filter of the list of payments',
    file: 'libs/contracts/src/payment-requests.ts',
    after: '    contactId: uuid.optional(),\n',
    text: '    batchId: uuid.optional(),\n',
    leadsTo: [
      ['libs/read-models/src/payments-query.ts', /batchId/],
      ['apps/api-gateway/src/payment-by-key.ts', /batchId/],
    ],
  },
  {
    what: 'a filter of the list of contacts',
    file: 'libs/contracts/src/party-requests.ts',
    after: 'export const contactListSchema = originatorListSchema.extend({',
    text: ' countryCode: uuid.optional(),',
    leadsTo: [['libs/read-models/src/directory-query.ts', /countryCode/]],
  },
  {
    what: 'a filter of the list of deliveries',
    file: 'libs/contracts/src/delivery-requests.ts',
    after: 'export const deliveryListSchema = z\n  .object({\n',
    text: '    attemptId: uuid.optional(),\n',
    leadsTo: [['libs/webhook-deliveries/src/delivery-log.ts', /attemptId/]],
  },
  {
    what: 'a filter of the list of events',
    file: 'libs/contracts/src/delivery-requests.ts',
    after: 'export const eventListSchema = z.object({\n',
    text: '  paymentId: uuid.optional(),\n',
    leadsTo: [['apps/api-gateway/src/events.controller.ts', /assignable/]],
  },
  {
    what: 'a rail',
    file: 'libs/domain/src/payment/payment-rail.ts',
    after: "export const paymentRails = ['ACH', ",
    text: "'CHIPS', ",
    leadsTo: [
      ['libs/bank-rails/src/selection/rail-terms.ts', /CHIPS/],
      ['libs/bank-rails/src/selection/rail-selection.ts', /CHIPS/],
      ['libs/bank-rails/src/calendar/rail-hours.ts', /CHIPS/],
      ['libs/bank-statements/src/bai2-codes.ts', /ending return/],
      ['apps/dashboard-web/src/format.ts', /CHIPS/],
    ],
  },
  {
    what: 'a filter of the list of originators',
    file: 'libs/contracts/src/party-requests.ts',
    after: 'export const originatorListSchema = z.object({\n',
    text: '  companyName: uuid.optional(),\n',
    leadsTo: [['apps/api-gateway/src/originators.controller.ts', /assignable/]],
  },
];

const root = path.join(import.meta.dirname, '..');
const compileTimeoutMs = 120_000;
const notCompiled = /\.spec\.ts$|\/(testing|testing\.ts|node_modules|dist|prisma)$/;
let copy: string;
let errors: readonly string[];

beforeAll(async () => {
  copy = mkdtempSync(path.join(os.tmpdir(), 'pis-compiler-leads-'));
  copySources();
  for (const { file, after, text } of additions) add(path.join(copy, file), after, text);
  errors = await compile();
}, compileTimeoutMs);
afterAll(() => rmSync(copy, { recursive: true, force: true }));

it.each(additions)('the compiler leads through every place of $what', ({ leadsTo }) => {
  const missing = leadsTo.filter(
    ([file, message]) => !errors.some((line) => line.startsWith(`${file}(`) && message.test(line)),
  );
  expect(missing).toEqual([]);
});

/** Copies the sources without specs, so that packages resolve to the copy. */
function copySources(): void {
  const paths: Record<string, string[]> = {};
  for (const folder of ['libs', 'apps'])
    for (const name of readdirSync(path.join(root, folder))) {
      const project = path.join(folder, name);
      const manifest = path.join(root, project, 'package.json');
      if (!existsSync(manifest)) continue;
      cpSync(path.join(root, project), path.join(copy, project), {
        recursive: true,
        filter: (file) => !notCompiled.test(file),
      });
      linkModules(project);
      const { exports = {} } = JSON.parse(readFileSync(manifest, 'utf8')) as {
        exports?: Record<string, Record<string, string>>;
      };
      for (const [entry, { '@pis/source': source }] of Object.entries(exports))
        if (source !== undefined)
          paths[path.posix.join('@pis', name, entry)] = [`./${path.posix.join(project, source)}`];
    }
  linkModules('');
  const options = { types: ['node'], paths };
  const tsconfig = {
    extends: path.join(root, 'tsconfig.base.json'),
    compilerOptions: options,
    include: ['libs/*/src/**/*.ts', 'apps/*/src/**/*.ts'],
  };
  writeFileSync(path.join(copy, 'tsconfig.json'), JSON.stringify(tsconfig));
  writeFileSync(path.join(copy, 'package.json'), JSON.stringify({ type: 'module' }));
}

function linkModules(project: string): void {
  const modules = path.join(root, project, 'node_modules');
  if (existsSync(modules)) symlinkSync(modules, path.join(copy, project, 'node_modules'));
}

function add(file: string, after: string, text: string): void {
  const source = readFileSync(file, 'utf8');
  const place = source.indexOf(after);
  if (place === -1) throw new Error(`${file} has no ${JSON.stringify(after)} any more`);
  const end = place + after.length;
  writeFileSync(file, source.slice(0, end) + text + source.slice(end));
}

/** The errors, one for each line, each with its explanation. */
function compile(): Promise<readonly string[]> {
  const compiler = path.join(root, 'node_modules/typescript-native/bin/tsc');
  const command = [compiler, '-p', copy, '--pretty', 'false'];
  return new Promise((resolve) => {
    execFile(process.execPath, command, { cwd: copy }, (_error, stdout) =>
      resolve(stdout.replaceAll(/\n +/g, ' ').split('\n').filter(Boolean)),
    );
  });
}
