import { Controller, Get, Inject, Patch, Req } from '@nestjs/common';
import { OriginatorDirectory } from '@pis/commands';
import { originatorListSchema, originatorView, type OriginatorView } from '@pis/contracts';
import { type Answer, answer, bodyOf, callerOf, contextOf, idIn } from '@pis/http-api';
import type { DirectoryQuery } from '@pis/read-models';
import type { FastifyRequest } from 'fastify';
import { DirectoryLists } from './directory-lists.js';
import { granted } from './refusals.js';
import { DIRECTORY_QUERY } from './tokens.js';

@Controller('v1/originators')
export class OriginatorsController {
  constructor(
    @Inject(OriginatorDirectory) private readonly directory: OriginatorDirectory,
    @Inject(DirectoryLists) private readonly lists: DirectoryLists,
    @Inject(DIRECTORY_QUERY) private readonly query: DirectoryQuery,
  ) {}

  @Get()
  list(@Req() request: FastifyRequest): Promise<Answer<readonly OriginatorView[]>> {
    const { organizationId } = callerOf(request);
    return this.lists.page('originators', request, originatorListSchema, (_query, page) =>
      this.query.originators(organizationId, page),
    );
  }

  @Patch(':id')
  async update(@Req() request: FastifyRequest): Promise<Answer<OriginatorView>> {
    const { organizationId } = callerOf(request);
    const originatorId = idIn(request, 'originatorId');
    const context = contextOf(request);
    const body = bodyOf(request);
    const updated = await this.directory.update(organizationId, originatorId, body, context);
    return answer(originatorView(granted(updated)));
  }
}
