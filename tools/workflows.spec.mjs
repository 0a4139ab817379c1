/** The workflows do what .ci/run does, and give nobody more than that. GitHub itself has not run them here. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { root } from './workspace.mjs';

const folder = join(root, '.github/workflows');
const workflows = readdirSync(folder).map((file) => {
  const text = readFileSync(join(folder, file), 'utf8');
  return { file, text, workflow: parse(text) };
});
const byFile = Object.fromEntries(workflows.map(({ file, workflow }) => [file, workflow]));
const stepsOf = ({ jobs }) => Object.values(jobs).flatMap(({ steps = [] }) => steps);
const ci = byFile['ci.yml'];
const outdated = byFile['outdated.yml'];
const release = byFile['release.yml'];

it('there is one for each change, one for each release, and one that looks for updates', () => {
  expect(Object.keys(byFile).toSorted()).toEqual(['ci.yml', 'outdated.yml', 'release.yml']);
  expect(Object.keys(ci.on)).toEqual(['push', 'pull_request', 'workflow_call']);
  expect(release.on).toEqual({ push: { tags: ['v[0-9]+.[0-9]+.[0-9]+'] } });
});

it.each(workflows)('$file may read the repository and nothing else', ({ workflow }) => {
  expect(workflow.permissions).toEqual({ contents: 'read' });
  for (const { permissions } of Object.values(workflow.jobs)) expect(permissions).toBeUndefined();
  for (const { uses, with: options } of stepsOf(workflow))
    if (uses?.startsWith('actions/checkout@')) expect(options['persist-credentials']).toBe(false);
});

it.each(workflows)('$file pins each action to a version or a commit', ({ workflow }) => {
  for (const { uses } of stepsOf(workflow))
    if (uses) expect(uses).toMatch(/^[\w-]+\/[\w-]+@(v\d+\.\d+\.\d+|[0-9a-f]{40})$/);
});

it.each(workflows)('$file has a time limit for each job, on a named machine', ({ workflow }) => {
  for (const { uses, 'runs-on': machine, 'timeout-minutes': minutes } of Object.values(
    workflow.jobs,
  )) {
    if (uses !== undefined) continue;
    expect(machine).toMatch(/^ubuntu-\d\d\.\d\d$/);
    expect(minutes).toBeGreaterThan(0);
  }
});

it.each(workflows)('$file puts no text from outside into a command', ({ workflow, text }) => {
  expect(text).not.toContain('pull_request_target');
  // A title or the name of a branch in a command would be run.
  for (const { run = '' } of stepsOf(workflow)) expect(run).not.toContain('${{');
});

it('ci.yml runs .ci/run with what it needs, and keeps the screenshots whatever comes of it', () => {
  const steps = stepsOf(ci);
  expect(steps.map(({ run }) => run).filter((run) => run?.includes('.ci/'))).toEqual(['.ci/run']);
  const uses = steps.flatMap(({ uses: action }) => (action ? [action.split('@')[0]] : []));
  for (const needed of ['setup-node', 'setup-go', 'setup-java', 'cache'])
    expect(uses).toContain(`actions/${needed}`);
  const node = steps.find(({ uses: action }) => action?.startsWith('actions/setup-node@'));
  expect(node.with['node-version-file']).toBe('.nvmrc');
  const kept = steps.find(({ uses: action }) => action?.startsWith('actions/upload-artifact@'));
  expect(kept).toMatchObject({ if: 'always()', with: { path: '.cache/screenshots' } });
  const go = steps.find(({ uses: action }) => action?.startsWith('actions/setup-go@'));
  // GOTOOLCHAIN=local builds with this one alone: tests of a program that needs a newer one would be skipped.
  const needed = [...goModules(), goOfHelm].toSorted(byVersion).at(-1);
  expect(go.with['go-version']).toBe(needed);
});

it('outdated.yml compares with the registry every week and before a release', () => {
  expect(Object.keys(outdated.on)).toEqual(['schedule', 'workflow_call', 'workflow_dispatch']);
  expect(stepsOf(outdated).map(({ run }) => run)).toContain('node tools/outdated.mjs');
});

it('ci.yml lets git read the checkout, which belongs to another user, before anything asks git', () => {
  const runs = stepsOf(ci).flatMap(({ run }) => (run ? [run] : []));
  expect(runs[0]).toBe('git config --global --add safe.directory "$GITHUB_WORKSPACE"');
  expect(stepsOf(ci)[0].uses).toMatch(/^actions\/checkout@/);
});

it('release.yml refuses a commit that is not on main, before it signs in anywhere', () => {
  const steps = stepsOf(release);
  const check = steps.findIndex(({ name }) => name === 'release only what is on main');
  const signIn = steps.findIndex(({ name }) => name === 'sign in');
  expect(steps[0].with['fetch-depth']).toBe(0);
  expect(check).toBeGreaterThan(0);
  expect(check).toBeLessThan(signIn);
  const folder = mkdtempSync(join(tmpdir(), 'pis-release-'));
  const sh = (command) => spawnSync('sh', ['-ec', command], { cwd: folder }).status;
  try {
    const commit = 'git -c user.name=t -c user.email=t@t.example commit --quiet --allow-empty -m';
    expect(
      sh(`git init --quiet; ${commit} one; git update-ref refs/remotes/origin/main HEAD`),
    ).toBe(0);
    expect(sh(steps[check].run)).toBe(0);
    expect(sh(`${commit} two`)).toBe(0);
    expect(sh(steps[check].run)).not.toBe(0);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('release.yml publishes only what has passed, with a bill of materials and its origin', () => {
  expect(release.jobs.test).toEqual({ uses: './.github/workflows/ci.yml' });
  expect(release.jobs.outdated).toEqual({ uses: './.github/workflows/outdated.yml' });
  const needs = ['test', 'outdated'];
  expect(release.jobs.publish).toMatchObject({ needs, environment: 'release' });
  const build = stepsOf(release).find(({ uses }) => uses?.startsWith('docker/build-push-action@'));
  expect(build.with).toMatchObject({
    ...{ file: 'deploy/Dockerfile', sbom: true, provenance: 'mode=max' },
  });
  const dockerfile = readFileSync(join(root, 'deploy/Dockerfile'), 'utf8');
  for (const [, name] of build.with['build-args'].matchAll(/^(\w+)=/gm))
    expect(dockerfile).toContain(`ARG ${name}=`);
});

/** What the go.mod of helm.sh/helm/v3 asks for at the version of tests/support/helm.ts. */
const goOfHelm = '1.26';

/** The versions that the programs of tools/judges ask for, as `1.26`. */
function goModules() {
  const judges = join(root, 'tools/judges');
  return readdirSync(judges)
    .map((name) => join(judges, name, 'go.mod'))
    .filter((file) => existsSync(file))
    .map((file) => /^go (\d+\.\d+)/m.exec(readFileSync(file, 'utf8'))[1]);
}

function byVersion(a, b) {
  return Number(a.split('.')[1]) - Number(b.split('.')[1]);
}
