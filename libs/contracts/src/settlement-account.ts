/** The operator's settlement account as operators write and see it. */
import { companyIdMax, companyNameOfFilesMax, type SettlementAccountRecord } from '@pis/domain';
import { z } from 'zod';
import { bankAccount, name, text } from './fields.js';
import { type BankAccountView, bankAccountView } from './payment-view.js';

/** What a NACHA file can hold: a letter or digit first. */
const fileText = /^[A-Za-z0-9][A-Za-z0-9 .,&'/()-]*$/;

export const settlementAccountSchema = z.strictObject(
  {
    /** As bank statements of debited originators name the operator. */
    name: name(companyNameOfFilesMax).regex(fileText, 'validation_enum'),
    companyId: text(1, companyIdMax).regex(fileText, 'validation_enum'),
    bankAccount,
  },
  {
    error: ({ code }) =>
      code === 'unrecognized_keys'
        ? 'has fields that a settlement account does not have'
        : undefined,
  },
);
export type SettlementAccountRequest = z.output<typeof settlementAccountSchema>;

export interface SettlementAccountView {
  readonly name: string;
  readonly companyId: string;
  readonly bankAccount: BankAccountView;
}

export function settlementAccountView(account: SettlementAccountRecord): SettlementAccountView {
  const { name: operator, companyId } = account;
  return { name: operator, companyId, bankAccount: bankAccountView(account.bankAccount) };
}
