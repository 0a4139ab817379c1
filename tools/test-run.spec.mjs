import { jestArguments, serversNeeded, summary } from './test-run.mjs';

describe('npm test', () => {
  it('hands paths and flags to Jest as they are', () => {
    expect(jestArguments(['libs/keyring', '-t', 'masks'])).toEqual([
      '--maxWorkers=2',
      'libs/keyring',
      '-t',
      'masks',
    ]);
    expect(jestArguments(['--maxWorkers=1', 'libs'])).toEqual(['--maxWorkers=1', 'libs']);
    expect(jestArguments(['-i'])).toEqual(['-i']);
  });

  it('selects Jest projects with --project, before or after a path', () => {
    const expected = ['--maxWorkers=2', 'libs/keyring', '--selectProjects=unit'];
    expect(jestArguments(['--project', 'unit', 'libs/keyring'])).toEqual(expected);
    expect(jestArguments(['libs/keyring', '--project=unit'])).toEqual(expected);
    expect(jestArguments(['--project', 'unit', '--project', 'servers'])).toEqual([
      '--maxWorkers=2',
      '--selectProjects=unit',
      '--selectProjects=servers',
    ]);
    expect(() => jestArguments(['--project'])).toThrow('--project needs a name');
  });

  it('starts only the servers that the selected tests need', () => {
    const nothing = { postgres: false, kafka: false, builds: false };
    expect(serversNeeded(['libs/a/src/x.spec.ts', 'tools/tests/y.spec.mjs'])).toEqual(nothing);
    expect(serversNeeded(['libs/a/src/x.pg.spec.ts'])).toEqual({ ...nothing, postgres: true });
    expect(serversNeeded(['libs/a/src/x.kafka.spec.ts'])).toEqual({
      ...nothing,
      postgres: true,
      kafka: true,
    });
    expect(serversNeeded(['tests/main-job.spec.ts'])).toEqual({
      postgres: true,
      kafka: true,
      builds: true,
    });
  });

  it('ends with a line that counts, a suite that could not run included', () => {
    const report = {
      numPassedTests: 7,
      numFailedTests: 0,
      numRuntimeErrorTestSuites: 0,
      numPendingTests: 0,
      numTodoTests: 0,
    };
    expect(summary(report)).toEqual({ line: '7 passed, 0 failed', failed: false });
    expect(summary({ ...report, numPendingTests: 2 }).line).toBe('7 passed, 0 failed, 2 skipped');
    expect(summary({ ...report, numFailedTests: 1, numRuntimeErrorTestSuites: 1 })).toEqual({
      line: '7 passed, 2 failed',
      failed: true,
    });
    expect(summary(null)).toEqual({ line: '0 passed, 1 failed', failed: true });
  });
});
