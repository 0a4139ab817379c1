/**
 * Monthly statements. No app generates them in this version, so an organization has none: its list is
 * empty and every id unknown, with the checks that any list and any read have.
 */
import { Controller } from '@nestjs/common';
import {
  getStatement,
  getStatementPdf,
  listStatements,
  type StatementListQuery,
} from '@pis/contracts';
import { type Answer, answer, Id, notFound, Operation, Query } from '@pis/http-api';

@Controller()
export class StatementsController {
  @Operation(listStatements)
  list(@Query() _query: StatementListQuery): Answer<readonly never[]> {
    return answer([]);
  }

  @Operation(getStatement)
  get(@Id('statementId') _statementId: string): never {
    throw notFound('statement');
  }

  @Operation(getStatementPdf)
  pdf(@Id('statementId') _statementId: string): never {
    throw notFound('statement');
  }
}
