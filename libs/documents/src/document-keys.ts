/** Where each kind of document is kept. */

export interface StatementDocument {
  readonly organizationId: string;
  readonly originatorId: string;
  readonly statementId: string;
  /** Of the attempt that was recorded. Absent in statements of earlier releases, whose attempts shared one document. */
  readonly documentId?: string;
}

export function statementKey(statement: StatementDocument): string {
  const { organizationId, originatorId, statementId, documentId } = statement;
  const name = documentId === undefined ? statementId : `${statementId}/${documentId}`;
  return `statements/${organizationId}/${originatorId}/${name}.pdf`;
}
