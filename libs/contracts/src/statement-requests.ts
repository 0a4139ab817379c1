/** Requests on statements (rule statement-read-1). */
import { z } from 'zod';
import { uuid } from './fields.js';
import { wholeNumber } from './party-requests.js';

const yearMax = 9999;

export const statementListSchema = z.object({
  originatorId: uuid.optional(),
  year: wholeNumber(1, yearMax).optional(),
});
export type StatementListQuery = z.output<typeof statementListSchema>;
