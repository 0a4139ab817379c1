/** Monthly statements: the list, and the documents. */
import type { StatementView } from '@pis/contracts';
import { type DocumentStore, statementKey } from '@pis/documents';
import {
  monthName,
  type Originator,
  originator as originators,
  statement as statements,
} from '@pis/domain';
import { type EventStore, repository } from '@pis/event-store';
import { type DirectoryLists, type Downloads, notFound, openDocument } from '@pis/http-api';
import { ownerOf } from '@pis/keyring';
import { StatementsQuery } from '@pis/read-models';
import type pg from 'pg';
import type { StatementItem, statementOperations } from '../operations/statements.js';
import type { RecordedActions } from '../recorded-actions.js';
import { type Handlers, Paged } from '../routes.js';

export interface StatementServices {
  readonly store: EventStore;
  readonly pool: pg.Pool;
  readonly documents: DocumentStore;
  readonly lists: DirectoryLists;
  readonly actions: RecordedActions;
  /** By the token of the session. */
  readonly files: Downloads<string>;
}

export function statementHandlers({
  store,
  pool,
  documents,
  lists,
  actions,
  files,
}: StatementServices): Handlers<keyof typeof statementOperations> {
  const query = new StatementsQuery(pool);
  const records = repository(store, statements);
  return {
    async listStatements({ organizationId, givenQuery }) {
      const { data, meta } = await lists.page(
        'statements',
        organizationId,
        givenQuery,
        ({ originatorId, year }, page) => query.list(organizationId, { originatorId, year }, page),
      );
      const items = await named(store, data);
      return meta.pagination === undefined ? items : new Paged(items, meta.pagination);
    },

    async downloadStatement({ organizationId, user, ids: { statementId }, by, token, reply }) {
      const { state } = await records.load(statementId);
      if (state?.organizationId !== organizationId) throw notFound('statement');
      const owner = ownerOf.originator(state.originatorId);
      const action = { name: 'downloadStatement', user, subject: { statementId } } as const;
      const bytes = await files.begin({ organizationId, reader: token, reply }, () =>
        actions.run(action, by, async () => {
          const opened = await openDocument(documents, { key: statementKey(state), owner });
          if (opened === null) throw notFound('statement');
          return opened;
        }),
      );
      if (bytes === undefined) throw notFound('statement');
      const month = monthName({ year: state.periodYear, month: state.periodMonth });
      reply
        .type('application/pdf')
        .header('Content-Length', String(state.sizeBytes))
        .header('Content-Disposition', `attachment; filename="statement-${month}.pdf"`);
      return bytes;
    },
  };
}

async function named(
  store: EventStore,
  data: readonly StatementView[],
): Promise<readonly StatementItem[]> {
  const parties = repository(store, originators);
  const ids = [...new Set(data.map(({ originatorId }) => originatorId))];
  const names = new Map<string, string | null>();
  await Promise.all(ids.map(async (id) => names.set(id, nameOf((await parties.load(id)).state))));
  return data.map((item) => ({
    ...item,
    originatorName: names.get(item.originatorId) ?? null,
  }));
}

function nameOf(party: Originator | null): string | null {
  if (party === null) return null;
  const { companyName, firstName, lastName } = party;
  const name = companyName ?? [firstName, lastName].filter((part) => part !== null).join(' ');
  return name === '' ? null : name;
}
