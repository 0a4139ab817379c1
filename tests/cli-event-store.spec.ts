/** `pis event-store`: whether the event store can be used, and the right to read its log. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { jest } from '@jest/globals';
import { type EventStoreDbStandIn, startEventStoreDbStandIn } from '@pis/event-store/testing';
import { makeCertificate } from '@pis/local-servers/testing';
import { pis, pisJson } from './support/process.js';

// Each command is a process of its own.
jest.setTimeout(120_000);

let scratch: string;
let server: EventStoreDbStandIn;
let as: (user: string, password: string) => Record<string, string>;
beforeAll(async () => {
  scratch = mkdtempSync(path.join(os.tmpdir(), 'pis-cli-event-store-'));
  const certificate = await makeCertificate(['127.0.0.1']);
  const caFile = path.join(scratch, 'ca.pem');
  writeFileSync(caFile, certificate.caPem);
  server = await startEventStoreDbStandIn({
    tls: certificate,
    users: {
      admin: { password: 'changeit', groups: ['$admins'] },
      pis: { password: 's3cret', groups: [] },
    },
  });
  as = (user, password) => ({
    PIS_DATA_DIR: path.join(scratch, 'unused'),
    PIS_EVENT_STORE: 'eventstoredb',
    EVENTSTOREDB_URL: `esdb://${user}:${password}@127.0.0.1:${server.port}?tlsCAFile=${caFile}`,
  });
});
afterAll(async () => {
  await server?.stop();
  rmSync(scratch, { recursive: true, force: true });
});

it('check reports the missing right, apply grants it, and then check succeeds', async () => {
  const before = await pis(['event-store', 'check'], as('pis', 's3cret'));
  expect(before.code).toBe(1);
  expect(before.stdout).toMatch(/^ok {5}append: allowed$/m);
  expect(before.stdout).toMatch(/^not ok read the log: .*pis event-store apply/m);

  const apply = ['event-store', 'apply', '--user', 'pis'];
  const denied = await pis(apply, as('pis', 's3cret'));
  expect(denied.code).toBe(1);
  expect(denied.stderr).toMatch(/denies the user of EVENTSTOREDB_URL a right/);
  const applied = await pisJson(apply, as('admin', 'changeit'));
  expect(applied).toEqual({ readers: ['pis', '$admins'], changed: true });

  const after = await pisJson<{ ok: boolean; findings: { name: string; ok: boolean }[] }>(
    ['event-store', 'check'],
    as('pis', 's3cret'),
  );
  expect(after.ok).toBe(true);
  expect(after.findings.map(({ name }) => name)).toEqual([
    'reachable',
    'TLS',
    'version',
    'leader',
    'append',
    'read the log',
    'namespace',
    'marker',
  ]);
});

it('wrong credentials are reported without being shown', async () => {
  const wrong = await pis(['event-store', 'check'], as('pis', 'wr0ng'));
  expect(wrong.code).toBe(1);
  expect(wrong.stdout).toMatch(/does not take the user and password of EVENTSTOREDB_URL/);
  expect(wrong.stdout + wrong.stderr).not.toContain('wr0ng');
});
