/** The guide to Kubernetes: its commands install the chart, and the Secrets that it makes are those that the pods take. */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { railExecutor } from '@pis/rail-executor/app';
import { blocksWith, commandsUnder, valuesUnder } from './support/guide.js';
import {
  chart,
  componentOf,
  type Container,
  containerIn,
  containersOf,
  describeWithHelm,
  helm,
  type Manifest,
  manifestsOf,
  ofKind,
  podsOf,
  render,
  secretsOf,
  valuesOf,
} from './support/helm.js';
import { cleanEnv, root } from './support/process.js';

const install = 'helm upgrade --install pis';

describeWithHelm('docs/kubernetes.md', () => {
  it('installs each profile with commands that the chart accepts', () => {
    const blocks = blocksWith(install);
    const profilesOf = blocks.map((block) => /values-(\w+)\.yaml/.exec(block)?.[1]);
    expect(profilesOf.toSorted()).toEqual(['minimal', 'production', 'sandbox']);
    for (const block of blocks) {
      const command = block.slice(block.indexOf(install));
      const local = command
        .replace(install, `'${String(helm.path)}' template pis --kube-version 1.31.0`)
        .replace('my-production.yaml', path.join(chart, 'ci/production-values.yaml'));
      const { status, stdout, stderr } = spawnSync('bash', ['-ec', local], {
        ...{ cwd: root, encoding: 'utf8', env: cleanEnv({}), maxBuffer: 64 * 1024 * 1024 },
      });
      expect({ command, status, stderr }).toEqual({ command, status: 0, stderr: '' });
      expect(stdout).toContain('image: registry.example.com/payment-initiation-service');
    }
  });

  it('shows values for production that the chart takes, with the authority of PostgreSQL in every process', () => {
    const shown = valuesUnder('Production');
    expect(shown.length).toBeGreaterThan(1);
    const withFiles = shown.find((values) => 'defaults' in values);
    for (const values of shown) {
      const manifests = render('production', { ...values, network: { strict: false } });
      if (values !== withFiles) continue;
      const foldersOf = (container: Container) =>
        container.volumeMounts.map(({ mountPath }) => mountPath);
      for (const pod of podsOf(manifests).values())
        for (const container of containersOf(pod))
          expect(foldersOf(container)).toContain('/etc/pis/postgres');
      const executor = containerIn(manifests, 'rail-executor');
      const rules = valuesOf(executor)['PIS_REVIEW_RULES_FILE'] ?? '';
      expect(foldersOf(executor)).toContain(path.dirname(rules));
      const known = Object.keys(railExecutor.env);
      for (const name of Object.keys(valuesOf(executor)).filter((one) => one.includes('STAFF')))
        expect(known).toContain(name);
    }
  });

  it('stops every process but the pod in which `pis` goes on', () => {
    const manifests = render('production', { operator: { enabled: true } });
    const deployments = ofKind(manifests, 'Deployment');
    const selectors = [...commandsUnder('Stop everything').matchAll(/ -l '([^']+)'/g)].map(
      ([, selector = '']) => selector.split(','),
    );
    expect(selectors).toHaveLength(2);
    for (const terms of selectors) {
      const isMeant = ({ metadata: { labels = {} } }: Manifest) =>
        terms.every((term) => {
          const [name = '', value] = term.split(/!?=/);
          return (labels[name] === value) !== term.includes('!=');
        });
      const left = deployments.filter((one) => !isMeant(one)).map(componentOf);
      expect(left).toEqual(['operator']);
    }
  });

  it('suspends the commands that run by the clock, and lets them go on at the end', () => {
    const check = { schedule: '0 5 * * *', args: ['pis', 'quarantine', 'list'] };
    const manifests = render('production', { cronJobs: { check } });
    const suspensions = [
      ...commandsUnder('Stop everything').matchAll(
        /get cronjob -o name -l (\S+)=(\S+) \| xargs .* patch -p '(.+)'/g,
      ),
    ];
    expect(suspensions.map(([, , , patch = '']) => JSON.parse(patch) as unknown)).toEqual([
      { spec: { suspend: true } },
      { spec: { suspend: false } },
    ]);
    for (const { metadata } of ofKind(manifests, 'CronJob'))
      for (const [, label = '', value] of suspensions) expect(metadata.labels?.[label]).toBe(value);
  });

  it('makes every Secret that the sandbox takes, with every key that it requires, and no other', () => {
    const text = commandsUnder('3. Secrets').replaceAll('\\\n', ' ');
    const [, listed = ''] = /^for process in (.+); do$/m.exec(text) ?? [];
    const keysOf = (line: string) =>
      [...line.matchAll(/--from-file=(\w+)=/g)].map(([, key]) => key);
    const lines = text.split('\n').filter((line) => line.includes('create secret generic'));
    const made = lines.flatMap((line) => {
      const [, name = ''] = /generic (\S+)/.exec(line) ?? [];
      const names = listed.split(/ +/).map((one) => name.replace('$process', one));
      return (name.includes('$process') ? names : [name]).map(
        (one) => [one, keysOf(line)] as const,
      );
    });
    const pods = [...podsOf(manifestsOf('sandbox')).values()];
    const taken = new Map(
      pods.flatMap(containersOf).map((container) => {
        const { names, required } = secretsOf(container);
        return [names[0] ?? '', required] as const;
      }),
    );
    expect(made.map(([name]) => name).toSorted()).toEqual([...taken.keys()].toSorted());
    for (const [name, keys] of made)
      expect([name, keys]).toEqual([name, expect.arrayContaining([...(taken.get(name) ?? [])])]);
  });
});
