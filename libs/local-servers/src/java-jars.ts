/** Servers that are jars: fetched from Maven Central once per checkout, and run on the Java of this machine. */
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { madeOnce } from './made-once.js';
import { runLogged } from './run-logged.js';

const javaVersionMin = 17;
const downloadTimeoutMs = 5 * 60_000;
const cache = join(import.meta.dirname, '..', '..', '..', '.cache');

export interface JavaPrograms {
  readonly java: string;
  /** A class path. */
  readonly jars: string;
  /** The file beside the jars for their classes as Java has loaded them. Missing until something makes it. */
  readonly classArchive: string;
}

export interface JavaServer {
  /** As in messages: "a Kafka broker". */
  readonly what: string;
  /** A folder below .cache, which names the version. */
  readonly folder: string;
  /** The folder of libs/local-servers whose pom.xml lists the jars. */
  readonly pomOf: string;
}

/** This machine lacks what the server needs. */
export class JarsUnavailable extends Error {
  override readonly name: string = 'JarsUnavailable';
}

/** @throws JarsUnavailable on a machine without Java, or without Maven to fetch the jars */
export async function javaPrograms(server: JavaServer): Promise<JavaPrograms> {
  const java = findJava(server);
  const folder = join(cache, server.folder);
  await madeOnce(folder, (draft) => download(server, draft));
  return { java, jars: join(folder, '*'), classArchive: `${folder}.jsa` };
}

function findJava({ what }: JavaServer): string {
  const home = process.env['JAVA_HOME'];
  const java = home ? join(home, 'bin', 'java') : 'java';
  const { status, stderr } = spawnSync(java, ['-version'], { encoding: 'utf8' });
  const version = Number(/version "(\d+)/.exec(stderr ?? '')?.[1]);
  if (status === 0 && version >= javaVersionMin) return java;
  throw new JarsUnavailable(`${what} needs Java ${javaVersionMin} or newer`);
}

async function download({ what, pomOf }: JavaServer, folder: string): Promise<void> {
  if (spawnSync('mvn', ['--version'], { stdio: 'ignore' }).status !== 0)
    throw new JarsUnavailable(`the jars of ${what} are fetched by Maven (mvn), which is not here`);
  mkdirSync(folder);
  const pom = join(import.meta.dirname, '..', pomOf, 'pom.xml');
  const quiet = ['-q', '-B', '-ntp', '-f', pom];
  const goal = ['dependency:copy-dependencies', '-DincludeScope=runtime'];
  try {
    await runLogged(['mvn', ...quiet, ...goal, `-DoutputDirectory=${folder}`], {
      log: `${folder}.log`,
      env: process.env,
      timeoutMs: downloadTimeoutMs,
    });
  } catch (error) {
    throw new JarsUnavailable(`Maven could not fetch the jars of ${what}`, { cause: error });
  }
}
