/**
 * What the contract tests run against. With BASE_URL and API_KEY in the environment it is the service
 * at that address: a sandbox, because the simulated bank's outcomes are part of the contract, whose
 * organization has two originators and no other client meanwhile. What else is given there decides
 * which tests can run:
 *
 *   PIS_CONTRACT_READ_ONLY_API_KEY, PIS_CONTRACT_WEBHOOK_ADMIN_API_KEY   keys of the other types
 *   PIS_CONTRACT_REVOKED_API_KEY, PIS_CONTRACT_EXPIRED_API_KEY           keys that were good once
 *   PIS_CONTRACT_OTHER_API_KEY                   a full-access key of another organization
 *   PIS_CONTRACT_RECEIVER_URL, PIS_CONTRACT_RECEIVER_PORT   an HTTPS address that the service may
 *                                  call and that leads to this port of this machine, without TLS
 *
 * Both spec files then share the one system: run them one after the other (CONTRIBUTING.md).
 *
 * Without BASE_URL the suite starts a system of its own, with an operator's command for the keys.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { jest } from '@jest/globals';
import { startHttpsReceiver } from '@pis/local-servers/testing';
import { pisJson, type RunningProcess, startProcess } from '../../support/process.js';
import { plainReceiver, type Receiver } from './receiver.js';

const keyVariables = {
  full_access: 'API_KEY',
  read_only: 'PIS_CONTRACT_READ_ONLY_API_KEY',
  webhook_admin: 'PIS_CONTRACT_WEBHOOK_ADMIN_API_KEY',
  revoked: 'PIS_CONTRACT_REVOKED_API_KEY',
  expired: 'PIS_CONTRACT_EXPIRED_API_KEY',
  other_organization: 'PIS_CONTRACT_OTHER_API_KEY',
} as const;
export type KeyKind = keyof typeof keyVariables;

export const foreignUrl = process.env['BASE_URL']?.replace(/\/$/, '');
const foreignReceiver = process.env['PIS_CONTRACT_RECEIVER_URL']?.replace(/\/$/, '');

const startLimitMs = 240_000;
/** Elsewhere a second attempt comes after half a minute. */
export const arrivalLimitMs = foreignUrl === undefined ? 30_000 : 60_000;
const testLimitMs = foreignUrl === undefined ? 90_000 : 300_000;
/** The slowest that the operator's command may be until it reads its arguments. */
const startedWithinMs = 10_000;

interface Target {
  readonly baseUrl: string;
  key(kind: KeyKind): Promise<string>;
  readonly receiver: Receiver | null;
  /** `pis` beside a system of our own: what it prints with --json. */
  operator<Result>(...args: readonly string[]): Promise<Result>;
  /** What a system of our own has logged so far. */
  log(): string;
  /** Of a system of our own: the organization of all keys but the foreign one. */
  readonly organizationId: string;
  stop(): Promise<void>;
}

let started: Target | undefined;

/** Called at the top of a spec file: one system for all of its tests. */
export function startTarget(settings: Readonly<Record<string, string>> = {}): void {
  jest.setTimeout(testLimitMs);
  beforeAll(async () => {
    started = foreignUrl === undefined ? await ownSystem(settings) : await foreign(foreignUrl);
  }, startLimitMs);
  afterAll(async () => {
    await started?.stop();
  }, startLimitMs);
}

export function target(): Target {
  if (started === undefined) throw new Error('startTarget() comes first');
  return started;
}

export function receiver(): Receiver {
  const { receiver } = target();
  if (receiver === null) throw new Error('there is no receiver: use itWithReceiver');
  return receiver;
}

type Test = () => Promise<void>;

/** What only a system with settings of our own can show. */
export function itOnOwn(title: string, test: Test): void {
  runOrSkip(
    title,
    test,
    foreignUrl === undefined ? null : 'only on a system that the suite starts',
  );
}

export function itWithReceiver(title: string, test: Test): void {
  const missing = foreignUrl !== undefined && foreignReceiver === undefined;
  runOrSkip(title, test, missing ? 'needs PIS_CONTRACT_RECEIVER_URL' : null);
}

export function itWithKeys(title: string, kinds: readonly KeyKind[], test: Test): void {
  const missing = kinds
    .map((kind) => keyVariables[kind])
    .filter((name) => foreignUrl !== undefined && !process.env[name]);
  runOrSkip(title, test, missing.length > 0 ? `needs ${missing.join(', ')}` : null);
}

function runOrSkip(title: string, test: Test, reason: string | null): void {
  if (reason === null) it(title, test);
  else it.skip(`${title} (${reason})`, test);
}

async function ownSystem(settings: Readonly<Record<string, string>>): Promise<Target> {
  const receiver = await startHttpsReceiver();
  const dataDir = mkdtempSync(path.join(os.tmpdir(), 'pis-contract-'));
  const environment = {
    PIS_DATA_DIR: dataDir,
    PIS_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    PIS_WEBHOOK_CA_FILE: receiver.caFile,
    ...settings,
  };
  const running = await startProcess(null, environment);
  const keys = new Map<KeyKind, Promise<string>>();
  return {
    baseUrl: String(running.ready['apiUrl']),
    receiver,
    organizationId: String(running.ready['organizationId']),
    operator: (...args) => pisJson(args, environment),
    log: () => running.stderr(),
    key(kind) {
      const key = keys.get(kind) ?? makeKey(kind, running, environment, dataDir);
      keys.set(kind, key);
      return key;
    },
    async stop() {
      await running.stop();
      await receiver.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

async function makeKey(
  kind: KeyKind,
  running: RunningProcess,
  environment: Readonly<Record<string, string>>,
  dataDir: string,
): Promise<string> {
  const create = (organization: string, type: string, ...more: string[]) =>
    pisJson<{ apiKey: string; apiKeyId: string }>(
      ['api-key', 'create', '--organization', organization, '--type', type, ...more],
      environment,
    );
  const ours = String(running.ready['organizationId']);
  switch (kind) {
    case 'full_access':
      return String(running.ready['apiKey']);
    case 'read_only':
    case 'webhook_admin':
      return (await create(ours, kind)).apiKey;
    case 'revoked': {
      const { apiKey, apiKeyId } = await create(ours, 'full_access');
      await pisJson(['api-key', 'revoke', '--id', apiKeyId], environment);
      return apiKey;
    }
    case 'expired': {
      const soon = new Date(Date.now() + startedWithinMs).toISOString();
      return (await create(ours, 'full_access', '--expires-at', soon)).apiKey;
    }
    case 'other_organization': {
      const { organizationId } = await pisJson<{ organizationId: string }>(
        ['organization', 'create', '--name', 'Another one'],
        environment,
      );
      const file = path.join(dataDir, 'originator.json');
      writeFileSync(file, JSON.stringify(anOriginator));
      await pisJson(
        ['originator', 'create', '--organization', organizationId, '--file', file],
        environment,
      );
      return (await create(organizationId, 'full_access')).apiKey;
    }
  }
}

const anOriginator = {
  entityType: 'BUSINESS',
  companyName: 'Another one',
  email: 'treasury@another.example',
  bankAccount: {
    subType: 'CHECKING',
    achRoutingNumber: '021000021',
    achAccountNumber: '778899001122',
  },
};

async function foreign(baseUrl: string): Promise<Target> {
  const port = process.env['PIS_CONTRACT_RECEIVER_PORT'];
  const receiver =
    foreignReceiver === undefined ? null : await plainReceiver(foreignReceiver, Number(port));
  return {
    baseUrl,
    receiver,
    organizationId: '',
    operator: () => Promise.reject(new Error('this is for itOnOwn')),
    log: () => '',
    async key(kind) {
      const key = process.env[keyVariables[kind]];
      if (!key) throw new Error(`${keyVariables[kind]} is not set`);
      return key;
    },
    async stop() {
      await receiver?.close();
    },
  };
}
