/** Exports: requests and their files. The worker of exports writes the files. */
import { Controller, Inject, Req, Res } from '@nestjs/common';
import { OriginatorDirectory } from '@pis/commands';
import {
  cancelExport,
  createExport,
  type ExportCreatedView,
  type ExportCreateRequest,
  exportFiles,
  type ExportListQuery,
  type ExportView,
  getExport,
  getExportFile,
  listExports,
} from '@pis/contracts';
import type { CommandContext, EventStore } from '@pis/event-store';
import {
  ExportFiles,
  type ExportRecord,
  exportRequestOf,
  type ExportRequests,
  exportView,
  openExportsMax,
} from '@pis/exports';
import {
  type Answer,
  answer,
  answerFile,
  ApiError,
  Body,
  Caller,
  Context,
  Cursors,
  type Given,
  GivenQuery,
  granted,
  Id,
  notFound,
  Operation,
} from '@pis/http-api';
import { EVENT_STORE } from '@pis/service-kit';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import { KeyDownloads } from './key-downloads.js';
import { EXPORT_REQUESTS } from './tokens.js';

@Controller()
export class ExportsController {
  constructor(
    @Inject(EVENT_STORE) private readonly store: EventStore,
    @Inject(EXPORT_REQUESTS) private readonly exports: ExportRequests,
    @Inject(ExportFiles) private readonly files: ExportFiles,
    @Inject(Cursors) private readonly cursors: Cursors,
    @Inject(OriginatorDirectory) private readonly originators: OriginatorDirectory,
    @Inject(KeyDownloads) private readonly downloads: KeyDownloads,
  ) {}

  @Operation(createExport)
  async create(
    @Caller() { organizationId }: Caller,
    @Context() { actor }: CommandContext,
    @Body() asked: ExportCreateRequest,
  ): Promise<Answer<ExportCreatedView>> {
    const { originatorId } = asked;
    if (originatorId !== null) granted(await this.originators.find(organizationId, originatorId));
    const created = await this.exports.create(
      exportRequestOf(asked, {
        organizationId,
        throughPosition: await this.store.lastPosition(),
        requestedBy: actor,
        requestedAt: new Date(),
      }),
    );
    if (created === null)
      throw new ApiError('CONFLICT', `${openExportsMax} exports are queued or running`);
    return answer({ exportId: created.id, status: created.status });
  }

  @Operation(listExports)
  async list(
    @Caller() { organizationId }: Caller,
    @GivenQuery() given: Given<ExportListQuery>,
  ): Promise<Answer<readonly ExportView[]>> {
    const { query, after } = this.cursors.page('exports', organizationId, given);
    const { limit } = query;
    const { items, next } = await this.exports.list(organizationId, { limit, after });
    const nextCursor = next && this.cursors.encode('exports', organizationId, next);
    return answer(items.map(exportView), { limit, nextCursor });
  }

  @Operation(getExport)
  async get(
    @Caller() { organizationId }: Caller,
    @Id('exportId') exportId: string,
  ): Promise<Answer<ExportView>> {
    return answer(exportView(await this.find(organizationId, exportId)));
  }

  @Operation(getExportFile)
  async file(
    @Caller() { organizationId }: Caller,
    @Id('exportId') exportId: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Readable | undefined> {
    const found = await this.find(organizationId, exportId);
    const { status, sha256, format, kind, sizeBytes } = found;
    if (status !== 'completed' || sha256 === null)
      throw new ApiError('CONFLICT', `the export is ${status}: it has no file`);
    const { mediaType, extension } = exportFiles[format];
    return this.downloads.begin(organizationId, { request, reply }, (whileValid) =>
      answerFile(request, reply, {
        name: `${kind}.${extension}`,
        mediaType: `${mediaType}; charset=utf-8`,
        ...{ sizeBytes, sha256 },
        read: (range) => whileValid(this.files.read(found, range)),
      }),
    );
  }

  @Operation(cancelExport)
  async cancel(
    @Caller() { organizationId }: Caller,
    @Id('exportId') exportId: string,
  ): Promise<Answer<ExportView>> {
    const canceled = await this.exports.cancel({ organizationId, exportId });
    if (canceled === null) throw notFound('export');
    return answer(exportView(canceled));
  }

  /** @throws ApiError NOT_FOUND */
  private async find(organizationId: string, exportId: string): Promise<ExportRecord> {
    const found = await this.exports.get({ organizationId, exportId });
    if (found === null) throw notFound('export');
    return found;
  }
}
