/** The part of `pis audit verify` that compares the read models with the log. It writes nothing but temporary tables. */
import { type DocumentStore, DocumentStoreRefused, openDocuments } from '@pis/documents';
import type { EventStore, Sealing } from '@pis/event-store';
import type { StoredKeyring } from '@pis/keyring';
import { compareReadModels, type ComparisonReport, projectionNames } from '@pis/read-models';
import {
  bindingOf,
  ConfigurationError,
  createKeyringFrom,
  documentsEnv,
  findsMasterKey,
  isStoreOfDatabase,
  keyringEnv,
  loadConfig,
  openKeyring,
  processEnv,
} from '@pis/service-kit/stores';
import type pg from 'pg';
import type { LogContext } from '../context.js';
import { CommandFailed, describe } from '../output.js';
import { auditStatements, type StatementsReport } from './statement-documents.js';
import {
  auditWebhookBodies,
  type LocatedDifference,
  type WebhookBodiesReport,
} from './webhook-bodies.js';

export interface ReadModelsReport {
  /** Whether names, addresses and masked accounts were compared: only with the master key. */
  readonly personalData: boolean;
  readonly projections: readonly ComparisonReport[];
  /** Their documents; null without the master key, which opens them. */
  readonly statements: StatementsReport | null;
  readonly webhookBodies: WebhookBodiesReport;
}

export interface ReadModelsOptions {
  readonly onDifference: (difference: LocatedDifference) => void;
  readonly onPage: (projection: string, eventsRead: number) => void;
}

/** @throws CommandFailed when the database belongs to another log; StoreUnavailable */
export async function auditReadModels(
  context: LogContext,
  { onDifference, onPage }: ReadModelsOptions,
): Promise<ReadModelsReport> {
  const { pool, store } = context;
  if (!(await isStoreOfDatabase({ store, pool })))
    throw new CommandFailed(
      'DATABASE_URL: this database belongs to another log. Name its own, or leave out its tables with --no-read-models',
    );
  const keys = await keysOf(store, pool);
  context.openWith(keys ?? everyoneErased);
  const projections: ComparisonReport[] = [];
  for (const name of projectionNames)
    projections.push(
      await compareReadModels(name, {
        ...{ store, pool, onDifference, withPersonalData: keys !== null },
        onPage: (eventsRead) => onPage(name, eventsRead),
      }),
    );
  const statements =
    keys === null
      ? null
      : await auditStatements({
          ...{ store, onDifference, documents: await documentsAt(keys, pool) },
          onPage: (read) => onPage('statements', read),
        });
  const webhookBodies = await auditWebhookBodies({
    ...{ store, pool, onDifference },
    onPage: (events) => onPage('webhook bodies', events),
  });
  return { personalData: keys !== null, projections, statements, webhookBodies };
}

/** @throws CommandFailed when the bucket or the credentials are wrong */
async function documentsAt(keyring: StoredKeyring, pool: pg.Pool): Promise<DocumentStore> {
  const { PIS_DOCUMENT_STORE: place } = loadConfig(documentsEnv, process.env);
  try {
    return await openDocuments(place, { pool, keyring });
  } catch (error) {
    if (error instanceof DocumentStoreRefused) throw new CommandFailed(error.message);
    throw error;
  }
}

/** Without keys every party looks like an erased one. */
const everyoneErased: Sealing = {
  seal: () => Promise.reject(new Error('an audit seals nothing')),
  openAll: (texts) => Promise.resolve(texts.map(() => null)),
  destroyedOf: () => Promise.resolve(new Set()),
};

/** Null without the master keys of the log. Creates none. */
async function keysOf(store: EventStore, pool: pg.Pool): Promise<StoredKeyring | null> {
  const config = { ...loadConfig(processEnv, process.env), ...loadConfig(keyringEnv, process.env) };
  if (!findsMasterKey(config)) return null;
  const bound = await bindingOf(store);
  if (bound === null) return null;
  try {
    const keyring = createKeyringFrom(config, pool);
    const logger = { error: () => undefined };
    const isOpen = await openKeyring({ store, pool, keyring, bound, logger, checkOnly: true });
    return isOpen ? keyring : null;
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    process.stderr.write(`pis: without keys: ${describe(error)}\n`);
    return null;
  }
}
