/** Monthly statements of originators. */
import { statementListSchema, type StatementView } from '@pis/contracts';
import { op } from '../operation.js';

/** With the name of the originator: null when it was erased. */
export type StatementItem = StatementView & { readonly originatorName: string | null };

export const statementOperations = {
  listStatements: op<readonly StatementItem[]>()({
    method: 'GET',
    path: '/statements',
    role: 'viewer',
    query: statementListSchema,
  }),
  /** The PDF. */
  downloadStatement: op<never>()({
    method: 'GET',
    path: '/statements/:statementId/pdf',
    role: 'viewer',
    isStream: true,
    isRecorded: true,
  }),
} as const;
