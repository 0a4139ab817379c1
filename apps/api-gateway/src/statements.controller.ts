/**
 * Monthly statements. No app generates them in this version, so every list is empty and every ID is unknown.
 * The requests are checked like those of any list and any read.
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
