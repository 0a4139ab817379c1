/** docker-compose.yml before the loader of Docker Compose, as `docker compose config` reads it, and before promtool. */
import { spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parse } from 'yaml';
import { goProgram } from './support/go.js';
import { rulesFolder } from './support/metric-names.js';
import { cleanEnv, root } from './support/process.js';

const startLimitMs = 360_000;
const profiles = ['apps', 'observability'];
const judge = await goProgram('compose');
const file = path.join(root, 'docker-compose.yml');
const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
const whyNot = hasPromtool ? '' : ' (skipped: promtool is not on the PATH)';

interface Project {
  readonly services: Readonly<Record<string, unknown>>;
}

if (judge.path === null)
  describe(`before the loader of Docker Compose (not here: ${judge.missing})`, () => {
    it.skip('docker-compose.yml is valid, with every combination of its profiles', () => undefined);
    it.skip('an unknown field and a missing volume are refused, so the loader does look', () =>
      undefined);
  });
else
  describe('before the loader of Docker Compose', () => {
    const program = judge.path;
    const load = (name: string, of: readonly string[]) =>
      spawnSync(program, [name, ...of], { encoding: 'utf8', env: cleanEnv({}), cwd: root });

    it(
      'docker-compose.yml is valid, with every combination of its profiles',
      () => {
        const sizes = [[], ['apps'], ['observability'], profiles].map((chosen) => {
          const { status, stdout, stderr } = load(file, chosen);
          expect({ chosen, status, stderr }).toEqual({ chosen, status: 0, stderr: '' });
          return Object.keys((JSON.parse(stdout) as Project).services).length;
        });
        const [servers = 0, apps = 0, observers = 0, all = 0] = sizes;
        expect(servers).toBe(3);
        expect(all).toBe(apps + observers - servers);
      },
      startLimitMs,
    );

    it(
      'an unknown field and a missing volume are refused, so the loader does look',
      () => {
        const folder = mkdtempSync(path.join(os.tmpdir(), 'pis-compose-'));
        const text = readFileSync(file, 'utf8');
        const wrongs = [
          ['    image: postgres:18', '    imgae: postgres:18', /imgae/],
          ['\n  grafana-data:\n', '\n', /grafana-data/],
        ] as const;
        for (const [right, wrong, message] of wrongs) {
          expect(text).toContain(right);
          const name = path.join(folder, 'docker-compose.yml');
          writeFileSync(name, text.replace(right, wrong));
          const { status, stderr } = load(name, profiles);
          expect(status).toBe(1);
          expect(stderr).toMatch(message);
        }
        rmSync(folder, { recursive: true });
      },
      startLimitMs,
    );
  });

(hasPromtool ? it : it.skip)(
  `Prometheus accepts its configuration and finds all rules${whyNot}`,
  () => {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'pis-prometheus-'));
    const { services } = parse(readFileSync(file, 'utf8'), { merge: true }) as {
      services: { prometheus: { command: readonly string[]; volumes: readonly string[] } };
    };
    const { command, volumes } = services.prometheus;
    // What Compose mounts, where it mounts it: the configuration names its rules by a path beside it.
    for (const volume of volumes.filter((one) => one.startsWith('./'))) {
      const [source = '', target = ''] = volume.split(':');
      mkdirSync(path.join(folder, path.dirname(target)), { recursive: true });
      symlinkSync(path.join(root, source), path.join(folder, target));
    }
    const [, config = ''] = /^--config\.file=(.+)$/.exec(command[0] ?? '') ?? [];
    const { status, stdout, stderr } = spawnSync(
      'promtool',
      ['check', 'config', path.join(folder, config)],
      { encoding: 'utf8' },
    );
    rmSync(folder, { recursive: true });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const rules = readdirSync(rulesFolder).filter((name) => name.endsWith('.rules.yaml'));
    expect(rules.length).toBeGreaterThan(5);
    for (const name of rules) expect(stdout).toContain(name);
  },
);
