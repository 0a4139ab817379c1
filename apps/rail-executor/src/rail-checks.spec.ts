import { type DirectoryEntry, directoryOf, type TransferInstruction } from '@pis/bank-rails';
import { instructionEnding } from '@pis/bank-rails/testing';
import { type PayerFeeTerms, type Payment, payment, paymentRails } from '@pis/domain';
import { fold, linkExample, paymentExample } from '@pis/domain/testing';
import { rejectionBeforeRail, rejectionWithoutRail } from './rail-checks.js';

const reachable = { bankName: 'A Bank', rails: paymentRails };
const directory = directoryOf(
  new Map<string, DirectoryEntry>([
    ['011000138', reachable],
    ['021000021', { bankName: 'Another Bank', rails: ['ACH', 'RTP'] }],
  ]),
);
const good = instructionEnding('4321');
const unlinked: PayerFeeTerms = {
  direction: 'INBOUND',
  link: null,
  ...{ discountFeeMinor: 100, flatFeeMinor: 25 },
};
const account = (changes: Partial<TransferInstruction['contactAccount']>) => ({
  ...good.contactAccount,
  ...changes,
});

it.each(paymentRails)('a transfer that %s takes passes the checks', async (rail) => {
  const contactAccount = account({ swiftCode: 'DEUTDEFF' });
  expect(
    await rejectionBeforeRail({ ...good, rail, contactAccount }, unlinked, directory),
  ).toBeNull();
});

it.each<[string, Partial<TransferInstruction>, string, string | null, string]>([
  [
    'a bank that left the rail',
    { rail: 'FEDNOW', contactAccount: account({ achRoutingNumber: '021000021' }) },
    'INVALID_CONTACT_DATA',
    'bankAccount.achRoutingNumber',
    'takes no FEDNOW payments any more',
  ],
  [
    'a number that left the directory',
    { rail: 'RTP', contactAccount: account({ achRoutingNumber: '322271627' }) },
    'INVALID_CONTACT_DATA',
    'bankAccount.achRoutingNumber',
    'is not in the routing directory any more',
  ],
  [
    "a person's name that cannot be sent",
    { contactName: '李 小龙' },
    'INVALID_CONTACT_DATA',
    'firstName',
    'Latin letters',
  ],
  [
    "a business's name that cannot be sent",
    { originatorName: '株式会社' },
    'INVALID_ORIGINATOR_DATA',
    'companyName',
    'Latin letters',
  ],
  [
    'a missing address',
    { rail: 'SWIFT', contactAccount: account({ swiftCode: 'DEUTDEFF' }), contactAddress: null },
    'INVALID_CONTACT_DATA',
    'legalAddress',
    'SWIFT needs it',
  ],
  [
    'the debit of an account abroad',
    { direction: 'INBOUND', contactAccount: account({ swiftCode: 'DEUTDEFF' }) },
    'INVALID_CONTACT_DATA',
    'bankAccount.swiftCode',
    'an ACH debit reaches accounts in the US only',
  ],
  [
    'a missing SWIFT code',
    { rail: 'SWIFT' },
    'INVALID_CONTACT_DATA',
    'bankAccount.swiftCode',
    'SWIFT needs it',
  ],
  [
    'an account number that is too long for ACH',
    { contactAccount: account({ achAccountNumber: '1'.repeat(18) }) },
    'INVALID_CONTACT_DATA',
    'bankAccount.achAccountNumber',
    'no account number that ACH takes',
  ],
  [
    "the originator's account number, with other characters",
    { originatorAccount: account({ achAccountNumber: '12 34' }) },
    'INVALID_ORIGINATOR_DATA',
    'bankAccount.achAccountNumber',
    'no account number that ACH takes',
  ],
  [
    "an amount above the rail's limit",
    { rail: 'RTP', amountMinor: 1_000_000_001 },
    'INTERNAL_ERROR',
    null,
    'above what RTP takes (10,000,000.00 USD)',
  ],
  [
    'an amount above the limit of same-day ACH',
    { achService: 'same_day', amountMinor: 100_000_001 },
    'INTERNAL_ERROR',
    null,
    'above what Same-day ACH takes (1,000,000.00 USD)',
  ],
])('%s is rejected, with the field and what to do', async (_what, changes, code, field, text) => {
  const rejection = await rejectionBeforeRail({ ...good, ...changes }, unlinked, directory);
  expect(rejection).toMatchObject({ failureCode: code, field });
  expect(rejection?.message).toContain(text);
  expect(rejection?.message).toMatch(/(update the (contact|originator), then )?create/);
  expect(rejection?.message).not.toContain('1'.repeat(18));
});

it('an ACH transfer to a number that the directory does not have passes', async () => {
  const contactAccount = account({ achRoutingNumber: '322271627' });
  expect(await rejectionBeforeRail({ ...good, contactAccount }, unlinked, directory)).toBeNull();
});

it.each([null, 'CHASUS33'])(
  'the debit of an account with the SWIFT code %s passes',
  async (swiftCode) => {
    const debit = {
      ...good,
      direction: 'INBOUND',
      contactAccount: account({ swiftCode }),
    } as const;
    expect(await rejectionBeforeRail(debit, unlinked, directory)).toBeNull();
  },
);

it('an amount that only the fee of the payer of a link puts above the limit is called so', async () => {
  const tooLarge = { ...good, rail: 'RTP', amountMinor: 1_000_000_001 } as const;
  const messageFor = async (link: typeof linkExample | null) =>
    (await rejectionBeforeRail(tooLarge, { ...unlinked, link }, directory))?.message;
  expect(await messageFor(linkExample)).toMatch(
    /^paymentAmount plus the processing fee that the payer of the link pays is above what RTP takes/,
  );
  expect(await messageFor(null)).toMatch(/^paymentAmount is above what RTP takes/);
});

describe('a payment that no rail could take at creation', () => {
  const withDecision = (
    code: 'address_required' | 'amount_above_rail_limit' | 'account_outside_us',
    changes: Partial<Payment> = {},
  ) => {
    const state = fold(payment, [
      {
        type: 'PaymentQueued',
        at: '2026-11-24T15:00:00.000Z',
        data: paymentExample({
          railDecision: {
            achService: null,
            isPossible: false,
            expectedSettlementAt: null,
            nextCutoffAt: null,
            rejected: [{ paymentRail: 'SWIFT', achService: null, code }],
          },
        }),
      },
    ]);
    if (state === null) throw new Error('no payment');
    return { ...state, ...changes };
  };

  it('for want of an address names the field', () => {
    expect(rejectionWithoutRail(withDecision('address_required'))).toMatchObject({
      failureCode: 'INVALID_CONTACT_DATA',
      field: 'legalAddress',
    });
  });

  it('because it would debit an account abroad names the field', () => {
    const debit = withDecision('account_outside_us', { direction: 'INBOUND' });
    expect(rejectionWithoutRail(debit)).toMatchObject({
      failureCode: 'INVALID_CONTACT_DATA',
      field: 'bankAccount.swiftCode',
    });
  });

  it('otherwise says why no rail takes it', () => {
    expect(rejectionWithoutRail(withDecision('amount_above_rail_limit'))).toMatchObject({
      failureCode: 'INTERNAL_ERROR',
      message: expect.stringContaining('SWIFT does not take an amount this large') as string,
    });
  });

  it('says that the fee of the payer of a link counts', () => {
    const messageOf = (changes: Partial<Payment>) =>
      rejectionWithoutRail(withDecision('amount_above_rail_limit', changes))?.message;
    const linked = { direction: 'INBOUND', link: linkExample } as const;
    const text = 'paymentAmount plus the processing fee that the payer of the link pays';
    expect(messageOf(linked)).toContain(text);
    expect(messageOf({ ...linked, link: null })).not.toContain('fee');
    expect(messageOf({ ...linked, direction: 'OUTBOUND' })).not.toContain('fee');
  });
});
