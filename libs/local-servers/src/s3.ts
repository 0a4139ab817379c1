/**
 * A real S3-compatible server on this machine, for tests: S3Proxy, which keeps objects as files and checks
 * signatures. It ends with the process that started it, for any reason (guardian.ts).
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { processIdentity } from '../plain/process-identity.mjs';
import { freePort } from './free-port.js';
import { type Guardian, startGuardian } from './guardian.js';
import { JarsUnavailable, type JavaPrograms, javaPrograms } from './java-jars.js';
import { logSince, sizeOf } from './run-logged.js';

const startTimeoutMs = 120_000;
const portAttemptsMax = 3;
const pollMs = 100;
const logConfig = join(import.meta.dirname, '..', 's3', 'logback.xml');

export interface S3Server {
  readonly endpoint: string;
  readonly bucket: string;
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** Where the objects are files: a folder for each bucket. */
  readonly dataDir: string;
  readonly pid: number;
  /** SIGKILL, as when the machine dies; restart() brings it back with its data. */
  kill(): Promise<void>;
  /** Ends it if it runs, and starts it again on the same port with its data. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** What an S3 server needs. Null, with a reason, on a machine without Java, or without Maven to fetch it. */
export async function s3Programs(): Promise<
  | { readonly programs: JavaPrograms; readonly missing: null }
  | { readonly programs: null; readonly missing: string }
> {
  try {
    const server = { what: 'an S3 server', folder: 's3proxy-2.7.0', pomOf: 's3' };
    return { programs: await javaPrograms(server), missing: null };
  } catch (error) {
    if (!(error instanceof JarsUnavailable)) throw error;
    return { programs: null, missing: error.message };
  }
}

/** With one empty bucket. */
export async function startS3(programs: JavaPrograms): Promise<S3Server> {
  const folder = mkdtempSync(join(tmpdir(), 'pis-s3-'));
  for (let attempt = 1; ; attempt += 1)
    try {
      return await startOnFreePort(programs, folder);
    } catch (error) {
      if (attempt === portAttemptsMax) {
        rmSync(folder, { recursive: true, force: true });
        throw error;
      }
    }
}

async function startOnFreePort(programs: JavaPrograms, folder: string): Promise<S3Server> {
  const bucket = 'documents';
  const credentials = { accessKeyId: 'local-identity', secretAccessKey: 'local-credential' };
  const dataDir = join(folder, 'data');
  const [config, log] = [join(folder, 's3proxy.properties'), join(folder, 's3proxy.log')];
  mkdirSync(join(dataDir, bucket), { recursive: true });
  const endpoint = `http://127.0.0.1:${await freePort()}`;
  const properties = {
    's3proxy.endpoint': endpoint,
    's3proxy.authorization': 'aws-v4',
    's3proxy.identity': credentials.accessKeyId,
    's3proxy.credential': credentials.secretAccessKey,
    'jclouds.provider': 'filesystem-nio2',
    'jclouds.identity': 'unused',
    'jclouds.credential': 'unused',
    'jclouds.filesystem.basedir': dataDir,
  };
  const lines = Object.entries(properties).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(config, lines.join(''));
  const guardian = await guard(programs, config, log);
  let pid = 0;
  const start = async () => {
    const from = sizeOf(log);
    pid = Number((await guardian.run('start')).reply);
    await answers(endpoint, pid, () => logSince(log, from));
  };
  try {
    await start();
  } catch (error) {
    await guardian.end();
    throw error;
  }
  return {
    ...{ endpoint, bucket, credentials, dataDir },
    get pid() {
      return pid;
    },
    kill: async () => void (await guardian.run('stop')),
    async restart() {
      await guardian.run('stop');
      await start();
    },
    async stop() {
      await guardian.end();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function guard({ java, jars }: JavaPrograms, config: string, log: string): Promise<Guardian> {
  // The server is a child of the shell, so its id is not used again before `wait` has seen it end.
  return startGuardian({
    functions: `
server=
start() {
  "$JAVA" -Xmx192m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 "-Dlogback.configurationFile=$LOGBACK" \\
    -cp "$JARS" org.gaul.s3proxy.Main --properties "$CONFIG" </dev/null >>"$LOG" 2>&1 &
  server=$!
  reply=$server
}
stop() {
  [ -z "$server" ] && return 0
  kill -KILL "$server"
  wait "$server"
  server=
}`,
    variables: { JAVA: java, JARS: jars, CONFIG: config, LOG: log, LOGBACK: logConfig },
    launcher: [],
    env: { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8' },
  });
}

/** Any answer will do: a request without a signature is refused. */
async function answers(endpoint: string, pid: number, logged: () => string): Promise<void> {
  const deadline = Date.now() + startTimeoutMs;
  for (;;) {
    if (processIdentity(pid) === null)
      throw new Error(`the S3 server ended while it started:\n${logged()}`);
    const isUp = await fetch(endpoint).then(
      () => true,
      () => false,
    );
    if (isUp) return;
    if (Date.now() > deadline)
      throw new Error(`the S3 server did not start within ${startTimeoutMs} ms:\n${logged()}`);
    await delay(pollMs);
  }
}
