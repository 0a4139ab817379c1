/**
 * The review of the sandbox, unless PIS_REVIEW_RULES_FILE names other rules: the endings of the contact's
 * account number that stop a payment before it reaches the simulated bank (rules sandbox-6 ff.).
 */
import type { ReviewRulesInput } from './review-rules.js';

const field = 'bankAccount.achAccountNumber';

function rejectedAccount(party: 'contact' | 'originator') {
  return {
    failureCode: party === 'contact' ? 'INVALID_CONTACT_DATA' : 'INVALID_ORIGINATOR_DATA',
    field,
    message: `The ${party}'s ${field} was rejected by the bank: update the ${party}, then create a new payment.`,
  } as const;
}

const ending = (contactAccountEndsWith: string) => ({
  name: `sandbox-account-${contactAccountEndsWith}`,
  when: { contactAccountEndsWith },
});

export const sandboxRules: ReviewRulesInput = {
  rules: [
    { ...ending('0201'), then: 'reject', rejection: rejectedAccount('contact') },
    { ...ending('0202'), then: 'reject', rejection: rejectedAccount('originator') },
    {
      ...ending('0203'),
      then: 'reject',
      rejection: {
        failureCode: 'INTERNAL_ERROR',
        message: 'An unexpected error occurred: wait a few minutes, then create a new payment.',
        reason: 'The payment could not be prepared for the rail.',
      },
    },
    { ...ending('0301'), then: 'block' },
    { ...ending('0501'), then: 'hold' },
  ],
};
