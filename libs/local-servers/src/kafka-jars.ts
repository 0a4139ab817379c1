/** The jars of a Kafka broker, fetched from Maven Central once per checkout. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { waitForLock } from '../plain/owner-lock.mjs';
import { runLogged } from './run-logged.js';

const kafkaVersion = '4.4.0';
const javaVersionMin = 17;
const downloadTimeoutMs = 10 * 60_000;
const pom = join(import.meta.dirname, '..', 'kafka', 'pom.xml');
const cache = join(import.meta.dirname, '..', '..', '..', '.cache');

/** This machine lacks what a broker needs; tests that need one are skipped. */
export class KafkaUnavailable extends Error {
  override readonly name = 'KafkaUnavailable';
}

export interface KafkaPrograms {
  readonly java: string;
  /** A class path. */
  readonly jars: string;
}

export async function kafkaPrograms(): Promise<KafkaPrograms> {
  const java = findJava();
  const folder = join(cache, `kafka-${kafkaVersion}`);
  const programs = { java, jars: join(folder, '*') };
  if (existsSync(folder)) return programs;
  const release = await waitForLock(cache, 'kafka-jars', { timeoutMs: downloadTimeoutMs });
  try {
    if (!existsSync(folder)) await download(folder);
  } finally {
    release();
  }
  return programs;
}

function findJava(): string {
  const home = process.env['JAVA_HOME'];
  const java = home ? join(home, 'bin', 'java') : 'java';
  const { status, stderr } = spawnSync(java, ['-version'], { encoding: 'utf8' });
  const version = Number(/version "(\d+)/.exec(stderr ?? '')?.[1]);
  if (status === 0 && version >= javaVersionMin) return java;
  throw new KafkaUnavailable(`a Kafka broker needs Java ${javaVersionMin} or newer`);
}

/** Into another folder, then renamed, so that an interrupted download is not mistaken for a complete one. */
async function download(folder: string): Promise<void> {
  if (spawnSync('mvn', ['--version'], { stdio: 'ignore' }).status !== 0)
    throw new KafkaUnavailable(
      'the jars of the Kafka broker are fetched by Maven (mvn), which is not here',
    );
  const draft = `${folder}.new`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true });
  const quiet = ['-q', '-B', '-ntp', '-f', pom];
  const goal = ['dependency:copy-dependencies', '-DincludeScope=runtime'];
  try {
    await runLogged(['mvn', ...quiet, ...goal, `-DoutputDirectory=${draft}`], {
      log: `${draft}.log`,
      env: process.env,
    });
  } catch (error) {
    throw new KafkaUnavailable('Maven could not fetch the jars of the Kafka broker', {
      cause: error,
    });
  }
  renameSync(draft, folder);
}
