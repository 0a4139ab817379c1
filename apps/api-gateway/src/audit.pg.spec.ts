import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import {
  hashOfLeaf,
  noteSigner,
  readCheckpointNote,
  verifyConsistency,
  verifyInclusion,
} from '@pis/audit';
import { signLog } from './testing/audit.js';
import {
  type Call,
  type Gateway,
  type Reply,
  startGatewayWithDatabase,
} from './testing/gateway.js';
import { codeOf, createPayer, idOf, issuesOf, type Payer } from './testing/payments.js';

jest.setTimeout(300_000);

let gateway: Gateway;
let payer: Payer;
beforeAll(async () => {
  gateway = await startGatewayWithDatabase();
  payer = await createPayer(gateway);
});
afterAll(() => gateway?.close());

const call = (path: string, options: Call = {}) =>
  gateway.call(path, { tenant: payer.tenant, ...options });
const dataOf = <Data>(reply: Reply) => reply.body?.data as Data;
const bytes = (text: string) => Buffer.from(text, 'base64');

interface Listed {
  readonly treeSize: number;
  readonly rootHash: string;
  readonly note: string;
}
interface Proof {
  readonly checkpoint: string;
  readonly treeSize: number;
  readonly events: readonly { index: number; leaf: string; proof: readonly string[] }[];
}

it('without a signature there is no key yet, and no checkpoint', async () => {
  expect(codeOf(await call('/v1/audit/key'))).toBe('503 SERVICE_UNAVAILABLE');
  expect(dataOf(await call('/v1/audit/checkpoints'))).toEqual([]);
  expect(issuesOf(await call('/v1/audit/consistency?from=1&to=1'))).toEqual(['to validation_max']);
});

it('proves all events of a payment, its checkpoints and their consistency', async () => {
  await signLog(gateway);
  const paymentId = idOf(await payer.pay());
  // A proof waits for a checkpoint that covers the payment.
  const [reply] = await Promise.all([call(`/v1/payments/${paymentId}/proof`), signLog(gateway)]);
  expect(reply.status).toBe(200);
  const proof = dataOf<Proof>(reply);
  const { treeSize, rootHash } = readCheckpointNote(proof.checkpoint);
  expect(treeSize).toBe(proof.treeSize);
  expect(proof.events).toHaveLength(1);
  for (const { index, leaf, proof: path } of proof.events) {
    const hash = hashOfLeaf(bytes(leaf).toString());
    const tree = { size: treeSize, root: bytes(rootHash) };
    expect(verifyInclusion({ hash, index }, tree, path.map(bytes))).toBe(true);
    expect(JSON.parse(bytes(leaf).toString())).toMatchObject({
      streamId: `payment-${paymentId}`,
      revision: 0,
    });
  }

  const { verifierKey } = noteSigner(Buffer.alloc(32, 7));
  expect(dataOf(await call('/v1/audit/key'))).toEqual({ verifierKey });
  const first = await call('/v1/audit/checkpoints?limit=1');
  const cursor = first.body?.meta?.pagination?.nextCursor;
  const second = await call(`/v1/audit/checkpoints?limit=1&cursor=${cursor}`);
  const [newer, older] = [first, second].map((page) => dataOf<Listed[]>(page)[0]);
  if (newer === undefined || older === undefined) throw new Error('there are two checkpoints');
  expect(second.body?.meta?.pagination?.nextCursor).toBeNull();
  expect(newer.note).toBe(proof.checkpoint);
  const sizes = `from=${older.treeSize}&to=${newer.treeSize}`;
  const { proof: path } = dataOf<{ proof: string[] }>(await call(`/v1/audit/consistency?${sizes}`));
  const [from, to] = [older, newer].map((one) => ({
    size: one.treeSize,
    root: bytes(one.rootHash),
  }));
  expect(from && to && verifyConsistency(from, to, path.map(bytes))).toBe(true);
});

it('refuses sizes that no checkpoint has, and payments of others', async () => {
  await signLog(gateway);
  const issues = async (query: string) => issuesOf(await call(`/v1/audit/consistency${query}`));
  expect(await issues('')).toEqual(['from validation_required', 'to validation_required']);
  expect(await issues('?from=0&to=x')).toEqual(['from validation_min', 'to validation_integer']);
  expect(await issues('?from=2&to=1')).toEqual(['from validation_max']);
  expect(await issues('?from=1&to=1000000')).toEqual(['to validation_max']);
  expect(codeOf(await call(`/v1/payments/${randomUUID()}/proof`))).toBe('404 NOT_FOUND');
  const other = await createPayer(gateway);
  const foreign = idOf(await other.pay());
  expect(codeOf(await call(`/v1/payments/${foreign}/proof`))).toBe('404 NOT_FOUND');
  const key = payer.tenant.keys.webhook_admin;
  expect(codeOf(await call('/v1/audit/checkpoints', { key }))).toBe('403 FORBIDDEN');
});
