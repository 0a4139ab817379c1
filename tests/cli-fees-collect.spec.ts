/** `pis fees collect` and `pis settlement-account` beside a running system. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { jest } from '@jest/globals';
import { monthAt } from '@pis/domain';
import { until } from '@pis/local-servers/testing';
import { Api } from './support/api.js';
import { pis, pisJson, startProcess } from './support/process.js';
import { expectRefusal } from './support/refusal.js';

// Each command is a process of its own.
jest.setTimeout(180_000);
const arrivalLimitMs = 60_000;

let scratch: string;
let running: Awaited<ReturnType<typeof startProcess>>;
let environment: Record<string, string>;
beforeAll(async () => {
  scratch = mkdtempSync(path.join(os.tmpdir(), 'pis-cli-collect-'));
  environment = { PIS_DATA_DIR: path.join(scratch, 'data'), PIS_DEMO_PAYMENTS: 'false' };
  running = await startProcess(null, environment);
});
afterAll(async () => {
  await running?.stop();
  rmSync(scratch, { recursive: true, force: true });
});

interface Payment {
  readonly paymentId: string;
  readonly status: string;
  readonly discountFee: number;
  readonly flatFee: number;
}

interface Collected {
  readonly data: readonly {
    readonly feePeriodId: string;
    readonly originatorId: string;
    readonly total: number;
    readonly status: string;
    readonly collectionId: string | null;
  }[];
}
/** The month in which a payment of now is completed; the same for the whole test unless it runs over its end. */
const month = monthAt('America/New_York', new Date());
const ofMonth = ['fees', 'collect', '--year', String(month.year), '--month', String(month.month)];
const collect = () => pisJson<Collected>(ofMonth, environment);

it('collects the fees of each originator once, beside the job', async () => {
  const api = new Api(String(running.ready['apiUrl']), String(running.ready['apiKey']));
  const [originatorId = ''] = running.ready['originatorIds'] as string[];
  const contact = await api.data<{ contactId: string }>(201, 'POST', '/v1/contacts/', {
    ...{ originatorId, entityType: 'INDIVIDUAL', firstName: 'Ada', lastName: 'Moreno' },
    email: 'ada@moreno.example',
    bankAccount: {
      ...{ subType: 'CHECKING', achRoutingNumber: '021000021', achAccountNumber: '1112223334' },
    },
  });
  const { contactId } = contact;
  const request = { originatorId, contactId, direction: 'OUTBOUND', paymentAmount: 100_000 };
  const created = await api.createPayment(request, randomUUID());
  const { paymentId } = created.body.data as Payment;
  const read = () => api.data<Payment>(200, 'GET', `/v1/payments/${paymentId}`);
  await until(async () => (await read()).status === 'COMPLETED', { timeoutMs: arrivalLimitMs });
  const { discountFee, flatFee } = await read();
  const first = await collect();
  expect(first.data).toMatchObject([{ originatorId, total: discountFee + flatFee }]);
  const again = await Promise.all([collect(), collect()]);
  for (const { data } of again)
    expect(data.map(({ collectionId }) => collectionId)).toEqual([first.data[0]?.collectionId]);
  const { stdout } = await pis(ofMonth, environment);
  const [period] = (await collect()).data;
  const lines = Object.entries(period ?? {}).map(([name, value]) => `${name}: ${value}\n`);
  expect(stdout).toBe(lines.join(''));
});

it('sets and shows the settlement account, masked', async () => {
  const file = path.join(scratch, 'settlement.json');
  const bankAccount = {
    ...{ subType: 'CHECKING', achRoutingNumber: '021000021', achAccountNumber: '123456789012' },
  };
  writeFileSync(
    file,
    JSON.stringify({ name: 'PAYSERVICE INC', companyId: '1234567890', bankAccount }),
  );
  const set = await pisJson(['settlement-account', 'set', '--file', file], environment);
  expect(set).toMatchObject({
    name: 'PAYSERVICE INC',
    bankAccount: { achAccountNumber: '********9012' },
  });
  expect(await pisJson(['settlement-account', 'show'], environment)).toEqual(set);
  writeFileSync(file, JSON.stringify({ name: 'PAYSERVICE INC', bankAccount }));
  expectRefusal(await pis(['settlement-account', 'set', '--file', file], environment), /companyId/);
});

it('leaves a period that was not given up as it is, and retries no unknown one', async () => {
  const { data } = await collect();
  const [period] = data;
  const retry = (id: string) => pis(['fees', 'retry', '--period', id], environment);
  const feePeriodId = period?.feePeriodId ?? '';
  const command = ['fees', 'retry', '--period', feePeriodId];
  expect(await pisJson(command, environment)).toMatchObject({
    ...{ feePeriodId, collectionId: period?.collectionId },
  });
  expect((await collect()).data).toHaveLength(data.length);
  expectRefusal(await retry(randomUUID()), /no such fee period/);
  expectRefusal(await retry('x'), /--period/);
});

it('refuses what is no month, and a month that has not begun', async () => {
  const of = (year: string, number: string) =>
    pis(['fees', 'collect', '--year', year, '--month', number], environment);
  expectRefusal(await of('2026', '13'), /no month/);
  expectRefusal(await of('2026', 'x'), /whole number/i);
  expectRefusal(await of('9000', '1'), /has not begun/);
});
