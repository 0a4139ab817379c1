/** Where each kind of document is kept. */

export interface StatementDocument {
  readonly organizationId: string;
  readonly originatorId: string;
  readonly statementId: string;
}

export function statementKey(statement: StatementDocument): string {
  const { organizationId, originatorId, statementId } = statement;
  return `statements/${organizationId}/${originatorId}/${statementId}.pdf`;
}
