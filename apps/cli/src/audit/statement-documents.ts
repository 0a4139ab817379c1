/**
 * The part of `pis audit verify` that reads every statement's document and compares its size and SHA-256 with those that
 * were recorded when it was generated. One document at a time, as a stream.
 */
import { createHash } from 'node:crypto';
import { type DocumentStore, statementKey } from '@pis/documents';
import { statement as statementStreams, type StatementEvent } from '@pis/domain';
import {
  beginning,
  domainEventOf,
  type EventStore,
  type Position,
  type RecordedEvent,
  UnreadableEvent,
} from '@pis/event-store';
import { ownerOf } from '@pis/keyring';
import type { ReadModelDifference } from '@pis/read-models';

export interface StatementsReport {
  /** Whose documents were read. */
  readonly compared: number;
  /** Of erased originators: nobody can open their documents any more. */
  readonly erased: number;
}

export interface StatementsOptions {
  readonly store: Pick<EventStore, 'readLog'>;
  readonly documents: Pick<DocumentStore, 'read'>;
  readonly onDifference: (difference: ReadModelDifference) => void;
  readonly onPage: (statements: number) => void;
}

const pageMax = 200;
const streamPrefixes = ['statement-'];

/** @throws StoreUnavailable, DocumentStoreUnavailable */
export async function auditStatements({
  store,
  documents,
  onDifference,
  onPage,
}: StatementsOptions): Promise<StatementsReport> {
  let [compared, erased] = [0, 0];
  for (let after: Position = beginning; ; ) {
    const page = await store.readLog({ after, streamPrefixes, pageMax, leaveSealed: true });
    for (const recorded of page.events) {
      const read = readEvent(recorded);
      if (typeof read === 'string') {
        onDifference({ table: 'documents', row: recorded.streamId, column: null, differs: read });
        continue;
      }
      const { type, data } = read;
      if (type !== 'StatementGenerated') continue;
      const differs = await differenceOf(documents, data);
      if (differs === 'erased') erased += 1;
      else compared += 1;
      if (differs !== null && differs !== 'erased')
        onDifference({ table: 'documents', row: statementKey(data), column: null, differs });
    }
    onPage(compared + erased);
    if (page.position <= after) return { compared, erased };
    after = page.position;
  }
}

/** What is wrong with one that cannot be read. */
function readEvent(recorded: RecordedEvent): StatementEvent | string {
  try {
    return domainEventOf<StatementEvent>(statementStreams, recorded);
  } catch (error) {
    if (!(error instanceof UnreadableEvent)) throw error;
    return `event ${recorded.revision} of the stream cannot be read: ${error.reason}`;
  }
}

type Generated = Parameters<typeof statementKey>[0] & {
  readonly sizeBytes: number;
  readonly sha256: string;
};

/** What these errors of the store say about a document. All others end the audit. */
const problems: Readonly<Record<string, string>> = {
  DocumentMissing: 'the document of the statement is missing',
  DocumentAltered: 'the document of the statement is not whole',
  CannotOpen: 'the document of the statement was altered: it cannot be opened',
  KeyDestroyed: 'erased',
};

async function differenceOf(
  documents: Pick<DocumentStore, 'read'>,
  statement: Generated,
): Promise<string | null> {
  const hash = createHash('sha256');
  let sizeBytes = 0;
  try {
    const owner = ownerOf.originator(statement.originatorId);
    for await (const bytes of documents.read(statementKey(statement), owner)) {
      hash.update(bytes);
      sizeBytes += bytes.length;
    }
  } catch (error) {
    const problem = error instanceof Error ? problems[error.name] : undefined;
    if (problem === undefined) throw error;
    return problem;
  }
  const isSame = sizeBytes === statement.sizeBytes && hash.digest('hex') === statement.sha256;
  return isSame ? null : 'the document of the statement is not the one that was recorded';
}
