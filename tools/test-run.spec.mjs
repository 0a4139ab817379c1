import {
  filesToRepeat,
  jestArguments,
  reportsByRoot,
  reportWithRepeated,
  rootArguments,
  summary,
  withoutNx,
} from './test-run.mjs';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import SlowestFirst, { slowest } from './jest/slowest-first.mjs';
import { root } from './workspace.mjs';

const two = { workers: 2 };

describe('npm test', () => {
  it('passes paths and flags to Jest unchanged', () => {
    expect(jestArguments(['libs/keyring', '-t', 'masks'], two)).toEqual([
      '--maxWorkers=2',
      'libs/keyring',
      '-t',
      'masks',
    ]);
    expect(jestArguments(['--maxWorkers=1', 'libs'], two)).toEqual(['--maxWorkers=1', 'libs']);
    expect(jestArguments(['-i'], two)).toEqual(['-i']);
  });

  it('selects Jest projects with --project, before or after a path', () => {
    const expected = ['--maxWorkers=2', 'libs/keyring', '--selectProjects=unit'];
    expect(jestArguments(['--project', 'unit', 'libs/keyring'], two)).toEqual(expected);
    expect(jestArguments(['libs/keyring', '--project=unit'], two)).toEqual(expected);
    expect(() => jestArguments(['--project'], two)).toThrow('--project needs a name');
  });

  it('runs the tests of both kinds of servers with --project servers', () => {
    expect(jestArguments(['--project', 'unit', '--project', 'servers'], two)).toEqual([
      '--maxWorkers=2',
      '--selectProjects=unit',
      '--selectProjects=postgres',
      '--selectProjects=kafka',
    ]);
  });

  it('passes a project without tests, but not a path that matches none', () => {
    expect(jestArguments([], { workers: 1, mayBeNone: true })).toContain('--passWithNoTests');
    expect(jestArguments(['libs/typo'], two)).not.toContain('--passWithNoTests');
  });

  it('runs the projects that Nx names', () => {
    expect(rootArguments(['--root', 'apps/cli', '--root', 'libs/domain', '-t', 'migrate'])).toEqual(
      { roots: ['apps/cli', 'libs/domain'], rest: ['-t', 'migrate'] },
    );
    expect(rootArguments(['apps/cli'])).toEqual({ roots: [], rest: ['apps/cli'] });
    expect(() => rootArguments(['--root'])).toThrow('--root needs a folder');
  });

  it('hides Nx from the tests', () => {
    const added = { NX_TASK_TARGET_PROJECT: 'tools', NX_WORKSPACE_ROOT: '/x', FORCE_COLOR: 'true' };
    expect(withoutNx({ PATH: '/bin', ...added })).toEqual({ PATH: '/bin' });
  });

  it('runs the files first that are known to be slow, and all others after them', () => {
    const context = { config: { cache: false }, hasteFS: { getSize: () => 1 } };
    const ofPath = (path) => ({ path: join(root, path), context });
    const sorted = new SlowestFirst().sort(['a.spec.ts', slowest[1], slowest[0]].map(ofPath));
    expect(sorted.map(({ path }) => path)).toEqual(
      [slowest[0], slowest[1], 'a.spec.ts'].map((path) => join(root, path)),
    );
    expect(slowest.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it('reports each project of a run on its own', () => {
    const of = (status) => ({ status });
    const testResults = [
      { name: '/w/libs/a/x.spec.ts', status: 'passed', assertionResults: [of('passed')] },
      { name: '/w/libs/a/y.spec.ts', status: 'failed', assertionResults: [] },
      { name: '/w/libs/a/z.spec.ts', status: 'failed', assertionResults: [of('failed')] },
      // None of its tests failed, but something outside of them did.
      { name: '/w/libs/ab/x.spec.ts', status: 'failed', assertionResults: [of('passed')] },
      {
        name: '/w/tests/b/x.spec.ts',
        status: 'passed',
        assertionResults: ['pending', 'todo'].map(of),
      },
    ];
    const roots = ['libs/a', 'libs/ab', 'tests', 'libs/empty'];
    const reports = reportsByRoot({ testResults }, roots, '/w');
    expect(reports.map((report) => summary([report]).line)).toEqual([
      '1 passed, 2 failed',
      '1 passed, 1 failed',
      '0 passed, 0 failed, 2 skipped',
      '0 passed, 0 failed',
    ]);
    expect(reports[0].testResults).toEqual(testResults.slice(0, 3));
  });

  it('runs a few failed files with servers again, and no unit tests', () => {
    const failed = (name) => ({ name: `/w/${name}`, status: 'failed', assertionResults: [] });
    const passed = { name: '/w/libs/a/y.spec.ts', status: 'passed', assertionResults: [] };
    const repeated = (...names) =>
      filesToRepeat({ testResults: [passed, ...names.map(failed)] }, '/w');
    const servers = ['libs/a/x.pg.spec.ts', 'libs/b/x.kafka.spec.ts', 'tests/idle.spec.ts'];
    expect(repeated(...servers)).toEqual(servers);
    expect(repeated(...servers, 'apps/c/x.esdb.spec.ts')).toEqual([]);
    expect(repeated('tests/idle.spec.ts', 'libs/a/x.spec.ts')).toEqual([]);
    expect(repeated()).toEqual([]);
  });

  it('counts the second result of a file that ran again, and the first when there is none', () => {
    const result = (name, status) => ({ name, status, assertionResults: [{ status }] });
    const first = {
      testResults: [result('/w/a/x.pg.spec.ts', 'failed'), result('/w/a/y.spec.ts', 'passed')],
    };
    const counted = (second) =>
      summary(reportsByRoot(reportWithRepeated(first, second), ['a'], '/w')).line;
    const again = (status) => ({ testResults: [result('/w/a/x.pg.spec.ts', status)] });
    expect(counted(again('passed'))).toBe('2 passed, 0 failed');
    expect(counted(again('failed'))).toBe('1 passed, 1 failed');
    expect(counted(null)).toBe('1 passed, 1 failed');
  });

  it('ends with a line that sums all reports, including a suite that could not run', () => {
    const report = {
      numPassedTests: 7,
      numFailedTests: 0,
      numRuntimeErrorTestSuites: 0,
      numPendingTests: 0,
      numTodoTests: 0,
    };
    expect(summary([report])).toEqual({ line: '7 passed, 0 failed', failed: false });
    expect(summary([report, { ...report, numPendingTests: 2 }])).toEqual({
      line: '14 passed, 0 failed, 2 skipped',
      failed: false,
    });
    expect(summary([{ ...report, numFailedTests: 1, numRuntimeErrorTestSuites: 1 }])).toEqual({
      line: '7 passed, 2 failed',
      failed: true,
    });
    expect(summary([report, null])).toEqual({ line: '7 passed, 1 failed', failed: true });
  });
});
