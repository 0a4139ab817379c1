/** Monthly statements. Single reads fold the stream; the list comes from the read model. */
import { Controller, Inject, Req, Res } from '@nestjs/common';
import {
  getStatement,
  getStatementPdf,
  listStatements,
  type StatementListQuery,
  statementView,
  type StatementView,
} from '@pis/contracts';
import { type DocumentStore, statementKey } from '@pis/documents';
import { monthName, type Statement, statement as statements } from '@pis/domain';
import { type EventStore, repository } from '@pis/event-store';
import {
  type Answer,
  answer,
  answerDocument,
  Caller,
  DirectoryLists,
  type Given,
  GivenQuery,
  Id,
  notFound,
  Operation,
} from '@pis/http-api';
import { ownerOf } from '@pis/keyring';
import { StatementsQuery } from '@pis/read-models';
import { EVENT_STORE } from '@pis/service-kit';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import { KeyDownloads } from './key-downloads.js';
import { DOCUMENTS } from './tokens.js';

@Controller()
export class StatementsController {
  private readonly statements;

  constructor(
    @Inject(EVENT_STORE) store: EventStore,
    @Inject(DirectoryLists) private readonly lists: DirectoryLists,
    @Inject(StatementsQuery) private readonly query: StatementsQuery,
    @Inject(DOCUMENTS) private readonly documents: DocumentStore,
    @Inject(KeyDownloads) private readonly downloads: KeyDownloads,
  ) {
    this.statements = repository(store, statements);
  }

  @Operation(listStatements)
  list(
    @Caller() { organizationId }: Caller,
    @GivenQuery() query: Given<StatementListQuery>,
  ): Promise<Answer<readonly StatementView[]>> {
    return this.lists.page('statements', organizationId, query, ({ originatorId, year }, page) =>
      this.query.list(organizationId, { originatorId, year }, page),
    );
  }

  @Operation(getStatement)
  async get(
    @Caller() { organizationId }: Caller,
    @Id('statementId') statementId: string,
  ): Promise<Answer<StatementView>> {
    return answer(statementView(await this.find(organizationId, statementId)));
  }

  /** An erased individual has no statement to read: the key of its document is gone, and the record stays. */
  @Operation(getStatementPdf)
  async pdf(
    @Caller() { organizationId }: Caller,
    @Id('statementId') statementId: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Readable | undefined> {
    const found = await this.find(organizationId, statementId);
    const { originatorId, sizeBytes, sha256, periodYear, periodMonth } = found;
    const document = {
      key: statementKey(found),
      owner: ownerOf.originator(originatorId),
      ...{ sizeBytes, sha256, mediaType: 'application/pdf', of: 'statement' },
      fileName: `statement-${monthName({ year: periodYear, month: periodMonth })}.pdf`,
    };
    return this.downloads.begin(organizationId, { request, reply }, (whileValid) => {
      const read: DocumentStore['read'] = (...given) => whileValid(this.documents.read(...given));
      return answerDocument({ read }, document, request, reply);
    });
  }

  private async find(organizationId: string, statementId: string): Promise<Statement> {
    const { state } = await this.statements.load(statementId);
    if (state?.organizationId !== organizationId) throw notFound('statement');
    return state;
  }
}
