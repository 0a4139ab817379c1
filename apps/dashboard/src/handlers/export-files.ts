/** Exports that are written in the background. The decisions are those of the API. */
import { Readable } from 'node:stream';
import type { OriginatorDirectory } from '@pis/commands';
import { exportFiles } from '@pis/contracts';
import type { DocumentStore } from '@pis/documents';
import type { EventStore } from '@pis/event-store';
import {
  ExportDownloads,
  ExportFiles,
  type ExportRecord,
  exportRequestOf,
  exportRequests,
  exportView,
  openExportsMax,
} from '@pis/exports';
import {
  answerFile,
  ApiError,
  type Cursors,
  type Downloads,
  granted,
  notFound,
} from '@pis/http-api';
import type { Users } from '@pis/users';
import type pg from 'pg';
import type { ExportItem, exportFileOperations } from '../operations/export-files.js';
import type { RecordedActions } from '../recorded-actions.js';
import { type Handlers, Paged } from '../routes.js';
import { emailsOfActors } from './actors.js';

export interface ExportFileServices {
  readonly store: EventStore;
  readonly pool: pg.Pool;
  readonly documents: DocumentStore;
  readonly cursors: Cursors;
  readonly originators: OriginatorDirectory;
  readonly users: Users;
  readonly actions: RecordedActions;
  /** By the token of the session. */
  readonly files: Downloads<string>;
}

const exportsFull = () =>
  new ApiError('CONFLICT', `${openExportsMax} exports are queued or running`);

/** It has no file that could be given up. */
function hasEnded({ status }: ExportRecord): boolean {
  return status === 'canceled' || status === 'failed' || status === 'expired';
}

export function exportFileHandlers(
  services: ExportFileServices,
): Handlers<keyof typeof exportFileOperations> {
  const { store, pool, documents, cursors, originators, users, actions, files } = services;
  const exports = exportRequests(pool);
  const stored = new ExportFiles(pool, documents);
  const downloads = new ExportDownloads(pool);

  async function find(organizationId: string, exportId: string): Promise<ExportRecord> {
    const found = await exports.get({ organizationId, exportId });
    if (found === null) throw notFound('export');
    return found;
  }

  async function itemsOf(
    organizationId: string,
    records: readonly ExportRecord[],
  ): Promise<readonly ExportItem[]> {
    const ids = records.map(({ id }) => id);
    const last = await downloads.of(organizationId, ids);
    const actors = [...last.values()].map(({ by }) => by);
    const emailOf = await emailsOfActors(users, organizationId, actors);
    return records.map((record) => {
      const one = last.get(record.id);
      const lastDownload =
        one === undefined
          ? null
          : { at: one.at.toISOString(), email: emailOf(one.by), count: one.count };
      return { ...exportView(record), lastDownload };
    });
  }

  return {
    async listExports({ organizationId, givenQuery }) {
      const { query, after } = cursors.page('exports', organizationId, givenQuery);
      const { limit } = query;
      const { items, next } = await exports.list(organizationId, { limit, after });
      const nextCursor = next && cursors.encode('exports', organizationId, next);
      return new Paged(await itemsOf(organizationId, items), { limit, nextCursor });
    },

    async createExport({ organizationId, user, body, by }) {
      const { originatorId, kind, format } = body;
      if (originatorId !== null) granted(await originators.find(organizationId, originatorId));
      if (!(await exports.hasRoom(organizationId))) throw exportsFull();
      const request = exportRequestOf(body, {
        organizationId,
        throughPosition: await store.lastPosition(),
        requestedBy: by.actor,
        requestedAt: new Date(),
      });
      const subject = { exportId: request.id, kind, format };
      return actions.run({ name: 'createExport', user, subject }, by, async () => {
        const created = await exports.create(request);
        if (created !== null) return exportView(created);
        throw exportsFull();
      });
    },

    async cancelExport({ organizationId, user, ids: { exportId }, by }) {
      const before = await find(organizationId, exportId);
      if (hasEnded(before)) return exportView(before);
      const action = { name: 'cancelExport', user, subject: { exportId } } as const;
      await actions.run(action, by, async () => {
        const after = await exports.cancel({ organizationId, exportId });
        return after?.status === 'canceled' ? after : ({ refused: 'ALREADY_ENDED' } as const);
      });
      return exportView(await find(organizationId, exportId));
    },

    async downloadExport(call) {
      const { organizationId, user, ids, by, token, request, reply } = call;
      const { exportId } = ids;
      const found = await find(organizationId, exportId);
      const { status, sha256, format, kind, sizeBytes } = found;
      if (status !== 'completed' || sha256 === null)
        throw new ApiError('CONFLICT', `the export is ${status}: it has no file`);
      const { mediaType, extension } = exportFiles[format];
      const action = { name: 'downloadExport', user, subject: { exportId } } as const;
      const bytes = await files.begin({ organizationId, reader: token, reply }, async () => {
        const file = answerFile(request, reply, {
          name: `${kind}.${extension}`,
          mediaType: `${mediaType}; charset=utf-8`,
          ...{ sizeBytes, sha256 },
          read: (range) => stored.read(found, range),
        });
        if (file === undefined) return undefined;
        return actions.run(action, by, async () => {
          await downloads.note({ organizationId, exportId, by: by.actor });
          return file;
        });
      });
      // The browser may have the file already.
      return bytes ?? Readable.from([]);
    },
  };
}
