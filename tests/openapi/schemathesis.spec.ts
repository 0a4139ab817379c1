/**
 * The running API against its own document: Schemathesis derives requests from /openapi.json, valid ones
 * and broken ones, alone and chained by the links, and judges each answer by the document.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { startHttpsReceiver } from '@pis/local-servers/testing';
import { Api } from '../support/api.js';
import { root } from '../support/process.js';
import { allInOne, type System } from '../support/systems.js';
import { answersIn } from './answers.js';
import { followLinks, type LinkedDocument } from './links.js';
import { pythonEnvironment } from './python.js';
import {
  completedExport,
  type Document,
  exportForExamples,
  recordsForExamples,
} from './records.js';

const startLimitMs = 240_000;
const runLimitMs = 300_000;

/** No statement is generated yet: there is none to get. */
const unreachable = ['GET /v1/statements/{statementId}', 'GET /v1/statements/{statementId}/pdf'];

const environment = pythonEnvironment();
const { python } = environment;

if (python === null)
  describe(`driven by its document (not here: ${environment.missing})`, () => {
    it.skip('follows each link of the document', () => undefined);
    it.skip('answers every request as the document says', () => undefined);
    it.skip('received requests for every operation of the document', () => undefined);
  });
else
  describe('driven by its document, the API', () => {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'pis-schemathesis-'));
    const report = path.join(folder, 'report.ndjson');
    let receiver: Awaited<ReturnType<typeof startHttpsReceiver>>;
    let system: System;
    let document: Document & LinkedDocument;
    let records: Readonly<Record<string, string>>;

    beforeAll(async () => {
      receiver = await startHttpsReceiver();
      system = await allInOne({
        PIS_RATE_LIMIT_PER_KEY: '0',
        PIS_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
        PIS_WEBHOOK_CA_FILE: receiver.caFile,
      });
      document = (await (await fetch(`${system.apiUrl}/openapi.json`)).json()) as Document &
        LinkedDocument;
      const api = new Api(system.apiUrl, system.apiKey);
      records = await recordsForExamples(document, api, receiver.url);
    }, startLimitMs);

    afterAll(async () => {
      await system?.stop();
      await receiver?.close();
      rmSync(folder, { recursive: true, force: true });
    });

    it('follows each link of the document', async () => {
      const linked = withoutStatements(document);
      const led = await followLinks(linked, new Api(system.apiUrl, system.apiKey), records);
      expect(led.length).toBeGreaterThan(30);
      // After another link has moved the payment, this transition is not allowed. An export is still being written.
      const well = /: 20\d$|→ (simulatePayment|getExportFile): 409$/;
      expect(led.filter((line) => !well.test(line))).toEqual([]);
    });

    it(
      'answers every request as the document says',
      async () => {
        const api = new Api(system.apiUrl, system.apiKey);
        const file = await exportForExamples(document, api);
        const { code, output } = await schemathesis(python, system, {
          ...{ folder, report, records: { ...records, ...file } },
          ...{ exportToCancel: await completedExport(api), receiverUrl: receiver.url },
        });
        expect(code === 0 ? '' : output).toBe('');
      },
      runLimitMs + startLimitMs,
    );

    it('received requests for every operation of the document', () => {
      const answers = answersIn(report);
      const operations = Object.entries(document.paths).flatMap(([address, methods]) =>
        Object.keys(methods).map((method) => `${method.toUpperCase()} ${address}`),
      );
      const wellAnswered = operations.filter((operation) =>
        [...(answers.get(operation)?.keys() ?? [])].some((status) => status < 300),
      );
      expect(wellAnswered.toSorted()).toEqual(
        operations.filter((operation) => !unreachable.includes(operation)).toSorted(),
      );
    });
  });

/** No statement exists that a link could use. */
function withoutStatements({ paths }: Document & LinkedDocument): LinkedDocument {
  const others = Object.entries(paths).filter(([address]) => !address.includes('/statements'));
  return { paths: Object.fromEntries(others) };
}

interface Places {
  readonly folder: string;
  readonly report: string;
  readonly receiverUrl: string;
  readonly records: Readonly<Record<string, string>>;
  readonly exportToCancel: string;
}

/** Runs to its end. Returns everything that it printed. */
async function schemathesis(python: string, system: System, places: Places) {
  const { folder, report, receiverUrl, records, exportToCancel } = places;
  const here = path.join(root, 'tests/openapi');
  const child = spawn(
    python,
    [
      ...['-m', 'schemathesis.cli', '--config-file', path.join(here, 'schemathesis.toml')],
      ...['--no-color', 'run', `${system.apiUrl}/openapi.json`, '--checks', 'all'],
      ...['--header', `Authorization: Bearer ${system.apiKey}`],
      ...['--report', 'ndjson', '--report-ndjson-path', report],
    ],
    {
      cwd: folder,
      env: {
        PATH: process.env['PATH'],
        HOME: folder,
        PYTHONDONTWRITEBYTECODE: '1',
        SCHEMATHESIS_HOOKS: path.join(here, 'hooks.py'),
        PIS_RECEIVER_URL: receiverUrl,
        PIS_EXAMPLE_RECORDS: JSON.stringify(records),
        PIS_EXPORT_TO_CANCEL: exportToCancel,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: runLimitMs,
    },
  );
  const output: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => output.push(chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output: Buffer.concat(output).toString('utf8') };
}
