/**
 * Monthly statements. No app generates them in this version, so an organization has none: its list is
 * empty and every id unknown, with the checks that any list and any read have.
 */
import { Controller, Get, Req } from '@nestjs/common';
import { type StatementListQuery, statementListSchema, validate } from '@pis/contracts';
import { accepted, type Answer, answer, idIn, notFound } from '@pis/http-api';
import type { FastifyRequest } from 'fastify';

@Controller('v1/statements')
export class StatementsController {
  @Get()
  list(@Req() request: FastifyRequest): Answer<readonly never[]> {
    accepted(validate<StatementListQuery>(statementListSchema, request.query));
    return answer([]);
  }

  @Get([':id', ':id/pdf'])
  get(@Req() request: FastifyRequest): never {
    idIn(request, 'statementId');
    throw notFound('statement');
  }
}
