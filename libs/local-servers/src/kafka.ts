/**
 * A real Kafka broker (KRaft, broker and controller in one) on this machine, for tests. It ends with
 * the process that started it, for any reason (guardian.ts).
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { processIdentity } from '../plain/process-identity.mjs';
import { freePorts } from './free-port.js';
import { startGuardian, type Guardian } from './guardian.js';
import { kafkaPrograms, type KafkaPrograms } from './kafka-jars.js';
import { madeOnce } from './made-once.js';
import { endOf, runLogged, sizeOf, textSince } from './run-logged.js';

const startTimeoutMs = 60_000;
const stopTimeoutMs = 15_000;
/** A broker that writes the class archive takes seconds longer to end. */
const archiveTimeoutMs = 120_000;
/** Of a process that ended in an orderly way after SIGTERM. */
const terminatedCode = '143';
const portAttemptsMax = 3;
const pollMs = 50;
const clusterId = 'MkU3OEVBNTcwNTJENDM2Qg';

export interface KafkaOptions {
  /** Its data and log. Default: a temporary folder that is deleted when the broker is stopped. */
  dir?: string;
  /** Further lines of server.properties. */
  properties?: Readonly<Record<string, string>>;
  /** Further listeners by name, each on a free port, with their protocols. */
  listeners?: Readonly<Record<string, 'SSL' | 'SASL_SSL'>>;
  /** Further arguments for formatting its data, for example users. */
  formatArguments?: readonly string[];
  /** Makes it a broker of this one's cluster, without a controller of its own. */
  joins?: { readonly cluster: Kafka; readonly nodeId: number };
}

export interface Kafka {
  readonly brokers: string[];
  /** `host:port` of the controller of its cluster. */
  readonly controller: string;
  /** `host:port` of a further listener. */
  listener(name: string): string;
  readonly pid: number;
  /** Shuts it down cleanly. */
  stop(): Promise<void>;
  /** SIGKILL, as when the machine dies; restart() brings it back with its data. */
  kill(): Promise<void>;
  /** Ends it if it runs, and starts it again on the same port with its data. */
  restart(): Promise<void>;
}

/** Throws KafkaUnavailable on a machine without Java, or without Maven to fetch the broker. */
export async function startKafka(options: KafkaOptions = {}): Promise<Kafka> {
  const programs = await programsWithArchive();
  const dir = options.dir ?? mkdtempSync(join(tmpdir(), 'pis-kafka-'));
  const broker = await startOnFreePorts(programs, dir, options);
  return {
    brokers: [`127.0.0.1:${broker.port}`],
    controller: broker.controller,
    listener(name) {
      const port = broker.listenerPorts[name];
      if (port === undefined) throw new Error(`the broker has no listener ${name}`);
      return `127.0.0.1:${port}`;
    },
    get pid() {
      return broker.pid();
    },
    async kill() {
      await broker.end('KILL');
    },
    async restart() {
      await broker.end('TERM');
      await broker.start();
    },
    async stop() {
      await broker.end('TERM');
      await broker.guardian.end();
      if (options.dir === undefined) rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** The programs, and what else Java is told. */
interface Programs extends KafkaPrograms {
  readonly archiveOption: string;
}

/**
 * With the classes of a broker as Java has loaded them, a start takes half the CPU time. A broker that starts and ends
 * writes them once per checkout. If Java has not written them all, the file is empty, which Java takes for none.
 */
async function programsWithArchive(): Promise<Programs> {
  const programs = await kafkaPrograms();
  const { classArchive } = programs;
  await madeOnce(classArchive, async (draft) => {
    const dir = mkdtempSync(join(tmpdir(), 'pis-kafka-'));
    const archiveOption = `-XX:ArchiveClassesAtExit=${draft}`;
    try {
      const broker = await startOnFreePorts({ ...programs, archiveOption }, dir, {});
      const code = await broker.end('TERM', archiveTimeoutMs);
      await broker.guardian.end();
      // Java crashes on a part of an archive.
      if (code !== terminatedCode) rmSync(draft, { force: true });
      if (!existsSync(draft)) writeFileSync(draft, '');
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });
  return { ...programs, archiveOption: `-XX:SharedArchiveFile=${classArchive}` };
}

interface Broker {
  readonly port: number;
  readonly controller: string;
  readonly listenerPorts: Readonly<Record<string, number>>;
  readonly guardian: Guardian;
  pid(): number;
  start(): Promise<void>;
  /** @returns the exit code, as a shell reports it. Empty if it did not run. */
  end(signal: 'TERM' | 'KILL', timeoutMs?: number): Promise<string>;
}

/** Another program may take a port between its choice and its use. */
async function startOnFreePorts(
  programs: Programs,
  dir: string,
  options: KafkaOptions,
): Promise<Broker> {
  for (let attempt = 1; ; attempt += 1) {
    const folder = join(dir, `broker-${attempt}`);
    const broker = await prepareBroker(programs, folder, options);
    try {
      await broker.start();
      return broker;
    } catch (error) {
      await broker.end('KILL');
      await broker.guardian.end();
      if (!(error instanceof PortTaken) || attempt === portAttemptsMax) throw error;
    }
  }
}

async function prepareBroker(
  programs: Programs,
  folder: string,
  options: KafkaOptions,
): Promise<Broker> {
  const listenerNames = Object.keys(options.listeners ?? {});
  const [port = 0, controllerPort = 0, ...otherPorts] = await freePorts(2 + listenerNames.length);
  const config = join(folder, 'server.properties');
  const log = join(folder, 'broker.log');
  mkdirSync(folder, { recursive: true });
  const listenerPorts = Object.fromEntries(
    listenerNames.map((name, index) => [name, otherPorts[index] ?? 0]),
  );
  const controller = options.joins?.cluster.controller ?? `127.0.0.1:${controllerPort}`;
  const properties = {
    ...serverProperties(port, controllerPort, folder),
    ...listenerProperties(port, controllerPort, listenerPorts, options.listeners ?? {}),
    ...(options.joins && memberProperties(port, controller, options.joins.nodeId)),
    ...options.properties,
  };
  const lines = Object.entries(properties).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(config, lines.join(''));
  await format(programs, config, log, options.formatArguments ?? []);
  const guardian = await guard(programs, { config, log });
  let pid = 0;
  return {
    port,
    controller,
    listenerPorts,
    guardian,
    pid: () => pid,
    async start() {
      const from = sizeOf(log);
      pid = Number((await guardian.run('start')).reply);
      await started(pid, log, from);
    },
    async end(signal, timeoutMs = stopTimeoutMs) {
      const identity = processIdentity(pid);
      const overdue = setTimeout(() => {
        if (identity !== null && processIdentity(pid) === identity) process.kill(pid, 'SIGKILL');
      }, timeoutMs);
      const { reply } = await guardian.run('stop', signal);
      clearTimeout(overdue);
      return reply;
    },
  };
}

function serverProperties(port: number, controllerPort: number, folder: string) {
  return {
    'process.roles': 'broker,controller',
    'node.id': '1',
    'controller.quorum.voters': `1@127.0.0.1:${controllerPort}`,
    'controller.listener.names': 'CONTROLLER',
    listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${port}`,
    'log.dirs': join(folder, 'data'),
    'auto.create.topics.enable': 'false',
    // One broker, and quick: for tests.
    'group.initial.rebalance.delay.ms': '0',
    'offsets.topic.num.partitions': '1',
    'offsets.topic.replication.factor': '1',
    'transaction.state.log.num.partitions': '1',
    'transaction.state.log.replication.factor': '1',
    'transaction.state.log.min.isr': '1',
    'log.cleaner.dedupe.buffer.size': '2097152',
    // A killed broker may rejoin soon. Heartbeats must still fit in, or a busy machine is fenced.
    'broker.session.timeout.ms': '9000',
    'broker.heartbeat.interval.ms': '500',
  };
}

/** A broker alone. The first one of its cluster holds the quorum. */
function memberProperties(port: number, controller: string, nodeId: number) {
  return {
    'process.roles': 'broker',
    'node.id': String(nodeId),
    'controller.quorum.voters': `1@${controller}`,
    listeners: `PLAINTEXT://127.0.0.1:${port}`,
    'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT',
  };
}

/** The broker itself and its tests use PLAINTEXT; the others are for clients that prove who they are. */
function listenerProperties(
  port: number,
  controllerPort: number,
  ports: Readonly<Record<string, number>>,
  protocols: Readonly<Record<string, string>>,
): Record<string, string> {
  const further = Object.entries(ports).map(([name, own]) => `${name}://127.0.0.1:${own}`);
  if (further.length === 0) return {};
  const plain = `PLAINTEXT://127.0.0.1:${port}`;
  const map = Object.entries({ CONTROLLER: 'PLAINTEXT', PLAINTEXT: 'PLAINTEXT', ...protocols });
  return {
    listeners: [plain, `CONTROLLER://127.0.0.1:${controllerPort}`, ...further].join(','),
    'advertised.listeners': [plain, ...further].join(','),
    'listener.security.protocol.map': map.map((pair) => pair.join(':')).join(','),
    'inter.broker.listener.name': 'PLAINTEXT',
  };
}

async function format(
  { java, jars, archiveOption }: Programs,
  config: string,
  log: string,
  more: readonly string[],
): Promise<void> {
  // Two programs must not write the archive.
  const archive = archiveOption.startsWith('-XX:Shared') ? [archiveOption] : [];
  const jvm = ['-Xmx128m', '-XX:TieredStopAtLevel=1', ...archive, '-cp', jars];
  const command = [
    java,
    ...jvm,
    'kafka.tools.StorageTool',
    'format',
    '-t',
    clusterId,
    '-c',
    config,
    ...more,
  ];
  await runLogged(command, { log, env: brokerEnv() });
}

function guard(
  { java, jars, archiveOption }: Programs,
  { config, log }: { config: string; log: string },
): Promise<Guardian> {
  // The broker is a child of the shell, so its id is not used again before `wait` has seen it end.
  return startGuardian({
    functions: `
server=
start() {
  "$JAVA" -Xms256m -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \\
    "$ARCHIVE" -cp "$JARS" kafka.Kafka "$CONFIG" </dev/null >>"$LOG" 2>&1 &
  server=$!
  reply=$server
}
stop() {
  [ -z "$server" ] && return 0
  kill -"\${1:-KILL}" "$server"
  wait "$server"
  reply=$?
  server=
}`,
    variables: { JAVA: java, JARS: jars, ARCHIVE: archiveOption, CONFIG: config, LOG: log },
    launcher: [],
    env: brokerEnv(),
  });
}

function brokerEnv(): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8' };
}

class PortTaken extends Error {}

/** @param text all that the broker logged: what it says of the port comes before a long shutdown */
export function endedWhileStarting(text: string): Error {
  const message = `the Kafka broker ended while it started:\n${endOf(text)}`;
  return text.includes('Address already in use') ? new PortTaken(message) : new Error(message);
}

async function started(pid: number, log: string, from: number): Promise<void> {
  const deadline = Date.now() + startTimeoutMs;
  while (!textSince(log, from).includes('Kafka Server started')) {
    if (processIdentity(pid) === null) throw endedWhileStarting(textSince(log, from));
    if (Date.now() > deadline)
      throw new Error(`the Kafka broker did not start within ${startTimeoutMs} ms`);
    await delay(pollMs);
  }
}
