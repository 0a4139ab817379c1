import { spawnSync } from 'node:child_process';
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { verifyBundle } from './verifier/verify.mjs';

const script = path.join(import.meta.dirname, 'verifier/verify.mjs');
const paymentId = '6f1b2c1e-0c7a-4f0e-9d55-0d4a0c6f1a05';
const { verifierKey, bundle } = signed();
const text = `${JSON.stringify(bundle, null, 2)}\n`;

it('accepts a bundle, and refuses it with every byte changed', () => {
  expect(verifyBundle(text, verifierKey)).toEqual({
    streamId: `payment-${paymentId}`,
    treeSize: 3,
    events: 2,
  });
  const bytes = Buffer.from(text);
  const accepted = [...bytes.keys()].filter((at) =>
    [1, 0x20].some((bit) => {
      const changed = Buffer.from(bytes);
      changed[at] ^= bit;
      return accepts(changed.toString('utf8'));
    }),
  );
  expect(accepted).toEqual([]);
});

it('refuses bundles with events left out, in another order, or of another key', () => {
  const { events } = bundle;
  for (const other of [[], events.slice(1), events.toReversed(), [...events, events[0]]])
    expect(accepts(`${JSON.stringify({ ...bundle, events: other }, null, 2)}\n`)).toBe(false);
  expect(() => verifyBundle(text, signed().verifierKey)).toThrow('of another key');
});

it('refuses values of other types that read like the right ones', () => {
  const { checkpoint } = bundle;
  for (const other of [{ paymentId: [paymentId] }, { checkpoint: [checkpoint] }])
    expect(accepts(`${JSON.stringify({ ...bundle, ...other }, null, 2)}\n`)).toBe(false);
});

it('refuses a signed leaf that another parser may read differently', () => {
  const streamId = `payment-${paymentId}`;
  const [first, second] = [0, 1].map((revision) => leafOf({ streamId, revision }));
  const accepted = (leaf) => {
    const { verifierKey, bundle } = signedLog([first, leaf, second]);
    const only = { ...bundle, events: bundle.events.slice(0, 1) };
    try {
      return verifyBundle(`${JSON.stringify(only, null, 2)}\n`, verifierKey).events === 1;
    } catch {
      return false;
    }
  };
  const changed = (from, to) => Buffer.from(first.toString('latin1').replace(from, to), 'latin1');
  expect(accepted(first)).toBe(true);
  for (const [from, to] of [
    ['"PaymentQueued"', '"PaymentReturned","type":"PaymentQueued"'],
    ['PaymentQueued', 'Payment\xffQueued'],
    ['"revision":0', '"revision":0.0'],
    ['"type"', ' "type"'],
    [/,"type".*/, '}'],
  ])
    expect([from, accepted(changed(from, to))]).toEqual([from, false]);
});

it('prints what a bundle says without the control characters in it', () => {
  const line = '\r\x1b[2Kok: 9 events \u202e\x9b31m';
  const leaf = leafOf({ streamId: `payment-${paymentId}`, revision: line });
  const events = [{ ...bundle.events[0], leaf: leaf.toString('base64') }];
  const folder = mkdtempSync(path.join(tmpdir(), 'pis-verifier-'));
  try {
    const file = path.join(folder, 'bundle.json');
    for (const hostile of [`${JSON.stringify({ ...bundle, events }, null, 2)}\n`, `{${line}`]) {
      writeFileSync(file, hostile);
      const { status, stdout, stderr } = spawnSync(
        process.execPath,
        [script, file, '--key', verifierKey],
        { encoding: 'utf8' },
      );
      expect([status, stdout]).toEqual([1, '']);
      expect(stderr).toMatch(/^[^\p{C}]+\n$/u);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

it('exits with 0 or 1', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'pis-verifier-'));
  try {
    const file = path.join(folder, 'bundle.json');
    const run = () => spawnSync(process.execPath, [script, file, '--key', verifierKey]);
    writeFileSync(file, text);
    expect(run().status).toBe(0);
    writeFileSync(file, text.replace(paymentId, paymentId.replace('6', '7')));
    expect(run().status).toBe(1);
    rmSync(file);
    expect(run().status).toBe(1);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

function accepts(changed) {
  try {
    verifyBundle(changed, verifierKey);
    return true;
  } catch {
    return false;
  }
}

/** A log of another event and two of the payment, under a key of its own. */
function signed() {
  const leaves = [
    { streamId: 'organization-1', revision: 0 },
    { streamId: `payment-${paymentId}`, revision: 0 },
    { streamId: `payment-${paymentId}`, revision: 1 },
  ].map(leafOf);
  return signedLog(leaves);
}

function leafOf({ streamId, revision }) {
  const eventHash = 'ab'.repeat(32);
  const recordedAt = '2026-11-21T09:00:00.000Z';
  const leaf = { eventHash, id: paymentId, recordedAt, revision, streamId, type: 'PaymentQueued' };
  return Buffer.from(JSON.stringify(leaf));
}

/** A log of three leaves. The bundle has the last two. */
function signedLog(leaves) {
  const [a, b, c] = leaves.map((leaf) => sha256(Buffer.of(0), leaf));
  const left = sha256(Buffer.of(1), a, b);
  const root = sha256(Buffer.of(1), left, c).toString('base64');
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const key = Buffer.concat([
    Buffer.of(1),
    Buffer.from(publicKey.export({ format: 'jwk' }).x, 'base64url'),
  ]);
  const hash = sha256(Buffer.from('example\n'), key).subarray(0, 4);
  const body = `example\n3\n${root}\n`;
  const signature = Buffer.concat([hash, sign(null, Buffer.from(body), privateKey)]);
  const event = (index, proof) => ({
    index,
    leaf: leaves[index].toString('base64'),
    proof: proof.map((one) => one.toString('base64')),
  });
  return {
    verifierKey: `example+${hash.toString('hex')}+${key.toString('base64')}`,
    bundle: {
      paymentId,
      checkpoint: `${body}\n— example ${signature.toString('base64')}\n`,
      treeSize: 3,
      events: [event(1, [a, c]), event(2, [left])],
    },
  };
}

function sha256(...parts) {
  return createHash('sha256').update(Buffer.concat(parts)).digest();
}
