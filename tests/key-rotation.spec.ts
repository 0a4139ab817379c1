/** A system that pays while its master key is rotated, and pays the same contact with the new key alone. */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createTestDatabase, type TestDatabase, until } from '@pis/local-servers/testing';
import { Api } from './support/api.js';
import { payable } from './support/payable.js';
import { pisJson, type RunningProcess, startProcess } from './support/process.js';

const testLimitMs = 360_000;
const completedMs = 60_000;

const [oldKey, newKey] = [randomBytes(32), randomBytes(32)].map((key) => key.toString('base64'));
const apiKey = `pis_test_${randomBytes(24).toString('base64url')}`;

let base: string;
let database: TestDatabase;
const running: RunningProcess[] = [];
beforeEach(async () => {
  base = mkdtempSync(path.join(os.tmpdir(), 'pis-key-rotation-'));
  database = await createTestDatabase();
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((one) => one.stop()));
  await database.drop();
  rmSync(base, { recursive: true, force: true });
});

const envWith = (keys: Readonly<Record<string, string>>) => ({
  DATABASE_URL: database.url,
  PIS_DATA_DIR: path.join(base, 'data'),
  PIS_BOOTSTRAP_API_KEY: apiKey,
  ...keys,
});

async function start(env: Record<string, string>): Promise<Api> {
  await Promise.all(running.splice(0).map((one) => one.stop()));
  const system = await startProcess(null, env);
  running.push(system);
  return new Api(String(system.ready['apiUrl']), apiKey);
}

/** Pays, and waits until the bank has executed it: for that the executor opens both bank accounts. */
async function pay(api: Api, payment: Record<string, unknown>): Promise<void> {
  const { status, body } = await api.createPayment(payment, randomUUID());
  expect(status).toBe(201);
  const { paymentId } = body.data as { paymentId: string };
  await until(
    async () => {
      const { status: reached } = await api.data<{ status: string }>(
        200,
        'GET',
        `/v1/payments/${paymentId}`,
      );
      return reached === 'COMPLETED';
    },
    { timeoutMs: completedMs, what: 'a completed payment' },
  );
}

it(
  'goes on paying during a rotation of the master key and after it',
  async () => {
    const before = await start(envWith({ PIS_MASTER_KEY: oldKey ?? '' }));
    const payment = await payable(before);
    await pay(before, payment);

    const both = envWith({ PIS_MASTER_KEYS: `${newKey},${oldKey}` });
    const during = await start(both);
    const [report] = await Promise.all([
      pisJson<{ rewrapped: number }>(['keys', 'rotate'], both),
      pay(during, payment),
      payable(during).then((other) => pay(during, other)),
    ]);
    expect(report.rewrapped).toBeGreaterThan(0);
    await pay(during, payment);

    const after = await start(envWith({ PIS_MASTER_KEY: newKey ?? '' }));
    await pay(after, payment);
  },
  testLimitMs,
);
