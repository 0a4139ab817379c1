import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { auditKeyFrom } from './master-keys-from.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'pis-audit-key-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('the sandbox creates an audit key once, and production refuses to start without one', () => {
  const sandbox = { PIS_ENVIRONMENT: 'sandbox', PIS_DATA_DIR: folder } as const;
  const created = auditKeyFrom(sandbox);
  expect(created).toHaveLength(32);
  expect(auditKeyFrom(sandbox)).toEqual(created);
  expect(statSync(path.join(folder, 'audit-key')).mode & 0o077).toBe(0);
  expect(() => auditKeyFrom({ ...sandbox, PIS_ENVIRONMENT: 'production' })).toThrow(
    'PIS_AUDIT_KEY: required when PIS_ENVIRONMENT is production',
  );
});

it('takes the audit key from the environment or from a mounted file, and tells none that is wrong', () => {
  const production = { PIS_ENVIRONMENT: 'production', PIS_DATA_DIR: folder } as const;
  const key = Buffer.alloc(32, 5);
  const file = path.join(folder, 'mounted');
  writeFileSync(file, `${key.toString('base64')}\n`);
  expect(auditKeyFrom({ ...production, PIS_AUDIT_KEY: key.toString('base64') })).toEqual(key);
  expect(auditKeyFrom({ ...production, PIS_AUDIT_KEY_FILE: file })).toEqual(key);
  writeFileSync(file, 'too-short');
  const refused = () => auditKeyFrom({ ...production, PIS_AUDIT_KEY_FILE: file });
  expect(refused).toThrow('PIS_AUDIT_KEY_FILE: ');
  expect(refused).not.toThrow('too-short');
});
