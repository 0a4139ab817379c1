/**
 * Checks for operators before the system runs on an EventStoreDB: whether it answers, and whether our user
 * has the rights it needs. Appending needs no group. Only administrators may read the log, `$all`, until
 * one of them grants it to our user. No other right is needed.
 */
import { randomUUID } from 'node:crypto';
import { type EventMetadata, StoreUnavailable, WrongExpectedRevision, beginning } from '../port.js';
import { type EventStoreDbUrl, parseEventStoreDbUrl } from './connection-string.js';
import { eventStoreDbEventStore } from './eventstoredb-event-store.js';
import { faultOf } from './faults.js';
import { LeaderConnection } from './leader-connection.js';
import { appendMessages, streamRequest } from './messages.js';

/** One check. */
export interface SetUpFinding {
  readonly name:
    | 'reachable'
    | 'version'
    | 'TLS'
    | 'leader'
    | 'append'
    | 'read the log'
    | 'namespace';
  readonly ok: boolean;
  /** The finding, or what to do about a failed check. */
  readonly text: string;
}

const timeoutMs = 5_000;
const logMetadata = '$$$all';
const administrators = '$admins';
const metadataType = '$metadata';

/** Checks without changes. Never throws: a failed query is a finding. */
export async function checkEventStoreDb(
  connectionString: string,
  namespace: string,
): Promise<readonly SetUpFinding[]> {
  const url = parseEventStoreDbUrl(connectionString);
  const findings = [await nodes(url), tls(url)];
  const store = eventStoreDbEventStore({
    connectionString,
    namespace,
    appendTimeoutMs: timeoutMs,
    readTimeoutMs: timeoutMs,
  });
  const connection = new LeaderConnection(url);
  try {
    findings.push(
      await finding('version', async () => connection.serverVersion(timeoutMs)),
      await finding('leader', async () => {
        await store.readStream(`check-${randomUUID()}`, { maxCount: 1 });
        return 'a node leads and answers';
      }),
      await finding('append', () => mayAppend(store)),
    );
    const last = await finding('read the log', async () => {
      await store.ping();
      return 'allowed';
    });
    findings.push(last);
    if (last.ok)
      findings.push(
        await finding('namespace', async () =>
          (await store.lastPosition()) === beginning
            ? `${namespace}: holds no events yet`
            : `${namespace}: holds events`,
        ),
      );
  } finally {
    connection.close();
    await store.close();
  }
  return findings;
}

/** Each node by itself: one of them is enough for the system, but all should answer. */
async function nodes(url: EventStoreDbUrl): Promise<SetUpFinding> {
  const answers = await Promise.all(
    url.hosts.map(async (host) => {
      const connection = new LeaderConnection({ ...url, hosts: [host], discover: false });
      const name = `${host.host}:${host.port}`;
      try {
        await connection.serverVersion(timeoutMs);
        return { ok: true, text: name };
      } catch (error) {
        // The version may be denied, but then the node has answered.
        const ok =
          faultOf(causeOf(error)) === 'rights' || faultOf(causeOf(error)) === 'credentials';
        return { ok, text: ok ? name : `${name} does not answer: ${messageOf(error)}` };
      } finally {
        connection.close();
      }
    }),
  );
  return {
    name: 'reachable',
    ok: answers.every(({ ok }) => ok),
    text: answers.map(({ text }) => text).join('; '),
  };
}

function tls({ tls: isOn, tlsCaFile }: EventStoreDbUrl): SetUpFinding {
  if (!isOn)
    return {
      name: 'TLS',
      ok: true,
      text: 'off: the server ignores credentials; use it for development only',
    };
  const authority = tlsCaFile === undefined ? 'the authorities of Node.js' : tlsCaFile;
  return { name: 'TLS', ok: true, text: `on, trusting ${authority}` };
}

/** Requests an append that cannot succeed: the server checks rights before revisions. */
async function mayAppend(store: ReturnType<typeof eventStoreDbEventStore>): Promise<string> {
  const metadata: EventMetadata = {
    at: new Date().toISOString(),
    schemaVersion: 1,
    actor: 'system:check',
    requestId: null,
    correlationId: randomUUID(),
    causationId: null,
    traceparent: null,
    previousHash: null,
  };
  const event = { id: randomUUID(), type: 'Check', data: {}, metadata };
  try {
    await store.append(`check-${randomUUID()}`, 1, [event]);
  } catch (error) {
    if (!(error instanceof WrongExpectedRevision)) throw error;
  }
  return 'allowed';
}

async function finding(
  name: SetUpFinding['name'],
  ask: () => Promise<string>,
): Promise<SetUpFinding> {
  try {
    return { name, ok: true, text: await ask() };
  } catch (error) {
    return { name, ok: false, text: messageOf(error) };
  }
}

/** The text of a StoreUnavailable: what to do, if that is known. */
function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function causeOf(error: unknown): unknown {
  return error instanceof StoreUnavailable ? error.cause : error;
}

export interface LogReaders {
  /** Who may read the log, users and groups. */
  readonly readers: readonly string[];
  readonly changed: boolean;
}

/**
 * Lets a user read the log, in addition to those who may already. Needs an administrator's connection string.
 * @throws StoreUnavailable, also if the user of the connection string is not an administrator
 */
export async function letReadLog(connectionString: string, user: string): Promise<LogReaders> {
  const connection = new LeaderConnection(parseEventStoreDbUrl(connectionString));
  try {
    const found = await readLogMetadata(connection);
    const acl = isObject(found.metadata['$acl']) ? found.metadata['$acl'] : {};
    const before = [acl['$r'] ?? []].flat().map(String);
    const readers = [...new Set([...before, user, administrators])];
    if (readers.length === before.length) return { readers, changed: false };
    const metadata = { ...found.metadata, $acl: { ...acl, $r: readers } };
    const data = JSON.stringify(metadata);
    const answer = await connection.append(
      appendMessages(logMetadata, {
        expected: found.revision,
        events: [{ id: randomUUID(), type: metadataType, data, metadata: '{}' }],
      }),
      timeoutMs,
    );
    if (answer.hasWrongExpectedVersion())
      throw new StoreUnavailable('another client changed the rights at the same time: try again');
    return { readers, changed: true };
  } finally {
    connection.close();
  }
}

async function readLogMetadata(connection: LeaderConnection): Promise<{
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly revision: number | 'noStream';
}> {
  const request = streamRequest(logMetadata, { direction: 'backwards', maxCount: 1 });
  const responses = await connection.read(request, timeoutMs);
  const event = responses.map((response) => response.getEvent()?.getEvent()).find(Boolean);
  if (event === undefined) return { metadata: {}, revision: 'noStream' };
  const metadata: unknown = JSON.parse(Buffer.from(event.getData_asU8()).toString());
  if (!isObject(metadata)) throw new StoreUnavailable('the metadata of $all is not an object');
  return { metadata, revision: Number(event.getStreamRevision()) };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
