/** If the parent of a launcher is killed, everything that the launcher started must end. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { processIdentity } from '../libs/local-servers/plain/process-identity.mjs';
import { until } from '../libs/local-servers/src/testing/until.ts';
import { root } from './workspace.mjs';

const launchModule = pathToFileURL(join(root, 'tools/launch.mjs')).href;
const limit = { timeoutMs: 20_000 };

describe('a process that npm start or npm test launches', () => {
  let folder;
  let programs;
  let printed;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'pis-launch-'));
    programs = [];
    printed = [];
  });
  afterEach(() => {
    for (const program of programs) program.kill('SIGKILL');
    for (const pid of printed) if (processIdentity(pid) !== null) process.kill(pid, 'SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  function script(name, text) {
    const file = join(folder, name);
    writeFileSync(file, text);
    return file;
  }

  /** A launcher like start.mjs. It prints the process IDs of itself and of its app. */
  function launcher(app) {
    return script(
      'launcher.mjs',
      `import { launch, whenToldToEnd } from '${launchModule}';
       const child = launch(['${app}'], { stdio: ['ignore', 'inherit', 'inherit'], env: {} });
       whenToldToEnd((signal) => child.kill(signal));
       child.once('exit', (code, signal) => process.exit(code ?? 99));
       child.once('spawn', () => console.log(process.pid, child.pid));`,
    );
  }

  /** A launcher with an app that prints the IDs. */
  function printing(app) {
    return script(
      'printing.mjs',
      `import { launch } from '${launchModule}';
       launch(['${app}'], { stdio: ['ignore', 'inherit', 'inherit'], env: {} });`,
    );
  }

  async function pidsFrom(command, args, env = {}) {
    const program = spawn(command, args, {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, ...env },
    });
    programs.push(program);
    const [line] = await once(createInterface({ input: program.stdout }), 'line');
    const pids = line.split(' ').map(Number);
    printed.push(...pids.filter((pid) => pid > 0));
    return { program, pids };
  }

  const allGone = (pids) => until(() => pids.every((pid) => processIdentity(pid) === null), limit);

  it('ends when its launcher is killed, whatever it is doing', async () => {
    const app = script('app.mjs', 'setInterval(() => {}, 1000);');
    const { program, pids } = await pidsFrom(process.execPath, [launcher(app)]);
    program.kill('SIGKILL');
    await allGone(pids);
  });

  it('ends cleanly with its own exit code when its launcher gets a signal', async () => {
    const ready = join(folder, 'ready');
    const app = script(
      'app.mjs',
      `import { writeFileSync } from 'node:fs';
       process.on('SIGTERM', () => process.exit(0));
       setInterval(() => {}, 1000);
       writeFileSync('${ready}', '');`,
    );
    const { program, pids } = await pidsFrom(process.execPath, [launcher(app)]);
    await until(() => existsSync(ready), limit);
    program.kill('SIGTERM');
    expect(await once(program, 'exit')).toEqual([0, null]);
    await allGone(pids);
  });

  it('ends when the npm that runs the launcher is killed, with or without a shell in between', async () => {
    const app = script('app.mjs', 'setInterval(() => {}, 1000);');
    const npm = { npm_lifecycle_event: 'start' };
    for (const between of ['exec ', '', ': && ']) {
      const runs = `${between}${process.execPath} ${launcher(app)}`;
      const asNpm = `const { spawn } = require('node:child_process');
        spawn('sh', ['-c', ${JSON.stringify(runs)}], { stdio: 'inherit' });`;
      const { program, pids } = await pidsFrom(process.execPath, ['-e', asNpm], npm);
      program.kill('SIGKILL');
      await allGone(pids);
    }
  }, 90_000);

  it('ends with its children, which depend on their channel like Jest’s workers', async () => {
    const busy = `process.on('message', () => {}); setInterval(() => {}, 1000);`;
    const worker = script('worker.mjs', busy);
    const app = script(
      'app.mjs',
      `import { fork } from 'node:child_process';
       import { once } from 'node:events';
       const worker = fork('${worker}', { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
       await once(worker, 'spawn');
       console.log(process.pid, worker.pid);`,
    );
    const { pids: started } = await pidsFrom(process.execPath, [printing(app)]);
    process.kill(started[0], 'SIGKILL');
    await allGone(started);
  });

  it('ends when the test run is killed, if a scenario started it as an app', async () => {
    const helper = pathToFileURL(join(root, 'tests/support/process.ts')).href;
    const app = script(
      'app.mjs',
      `console.log(JSON.stringify({ ready: true, pid: process.pid })); setInterval(() => {}, 1000);`,
    );
    const testRun = script(
      'test-run.mjs',
      `import { readyLine, startCommand } from '${helper}';
       const options = { env: {}, cwd: '${folder}', readyLine };
       const { pid } = await startCommand(process.execPath, ['${app}'], options);
       console.log(process.pid, pid);`,
    );
    const { pids } = await pidsFrom(process.execPath, [testRun]);
    process.kill(pids[0], 'SIGKILL');
    await allGone(pids);
  });

  it('does not keep its children alive when they have nothing to do', async () => {
    const worker = script('worker.mjs', `process.once('message', () => {});`);
    const app = script(
      'app.mjs',
      `import { fork } from 'node:child_process';
       import { once } from 'node:events';
       const worker = fork('${worker}', { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
       worker.send('the end');
       await once(worker, 'exit');
       process.exitCode = 7;`,
    );
    const { program } = await pidsFrom(process.execPath, [launcher(app)]);
    expect(await once(program, 'exit')).toEqual([7, null]);
  });

  it('can end by itself', async () => {
    const app = script('app.mjs', 'process.exitCode = 7;');
    const { program } = await pidsFrom(process.execPath, [launcher(app)]);
    expect(await once(program, 'exit')).toEqual([7, null]);
  });
});
