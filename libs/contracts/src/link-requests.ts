/** What a counterparty submits on the page of a payment link (specification, "Payment link"). */
import { z } from 'zod';
import { bankAccount, legalAddress } from './fields.js';

const { subType, achRoutingNumber, achAccountNumber } = bankAccount.shape;

/** The account holder is not part of it: the link fixes the holder. */
export const linkSubmissionSchema = z.object({
  subType,
  achRoutingNumber,
  achAccountNumber,
  legalAddress,
});
export type LinkSubmission = z.output<typeof linkSubmissionSchema>;
