/** The outcomes of a payment by the ending of the contact's account number, and what must be seen of each. */
import type { Payment } from '@pis/client';
import type { Way } from './rails-ways.js';

type Status = Payment['status'];
export type Transition = readonly [from: Status | null, to: Status];

export interface ExpectedOutcome {
  /** Of the account number. */
  readonly ending: string;
  readonly transitions: readonly Transition[];
  /** Fields of the payment in the end. */
  shown(way: Way): Readonly<Record<string, unknown>>;
  /** The state of its one execution in the books of the bank; null where it has none. */
  readonly inTheBooks: 'pending' | 'executed' | 'returned' | null;
  /** Not confirmed in the normal time. */
  readonly isLate: boolean;
  /** Over ACH, the bank reports other data of the account. */
  readonly isCorrected: boolean;
}

/** Beside the default ones of the sandbox. */
export const scenarios = `
  - name: the account is closed, on ACH
    match: { accountEndsWith: '0611', rail: ACH }
    outcome: reject
    code: R02
  - name: the account is closed
    match: { accountEndsWith: '0611' }
    outcome: reject
    code: AC04
  - name: the bank is unknown, on ACH, after a while
    match: { accountEndsWith: '0612', rail: ACH }
    outcome: reject
    code: R13
    delayMs: 300
    duplicate: 2
  - name: the bank is unknown, after a while
    match: { accountEndsWith: '0612' }
    outcome: reject
    code: RC01
    delayMs: 300
    duplicate: 2
  - name: the originator cannot pay, on ACH
    match: { accountEndsWith: '0613', rail: ACH }
    outcome: reject
    code: R29
  - name: the originator cannot pay
    match: { accountEndsWith: '0613' }
    outcome: reject
    code: AC13
  - name: confirmed several times after a while, with a correction
    match: { accountEndsWith: '0621' }
    outcome: accept
    delayMs: 300
    duplicate: 3
    correction: { code: C01, corrected: '1918171614' }
  - name: returned several times after a while
    match: { accountEndsWith: '0622' }
    outcome: return
    code: R03
    delayMs: 300
    duplicate: 3
`;

const queued: Transition = [null, 'QUEUED'];
const submitted = [queued, ['QUEUED', 'PROCESSING']] as const satisfies Transition[];
const completed = [...submitted, ['PROCESSING', 'COMPLETED']] as const satisfies Transition[];
const returned = [...completed, ['COMPLETED', 'RETURNED']] as const satisfies Transition[];
const late = [...submitted, ['PROCESSING', 'FAILED_IN_FLIGHT']] as const satisfies Transition[];

const usual = { isLate: false, isCorrected: false } as const;
const nothing = { failureCode: null, returnReasonCode: null } as const;

const completes = (ending: string, isCorrected = false): ExpectedOutcome => ({
  ...{ ...usual, ending, transitions: completed, inTheBooks: 'executed', isCorrected },
  shown: ({ paymentRail }) => ({
    ...{ ...nothing, paymentRail, status: 'COMPLETED', failedAt: null },
    completedAt: expect.any(String),
  }),
});

const returns = (ending: string, returnReasonCode: string | null): ExpectedOutcome => ({
  ...{ ...usual, ending, transitions: returned, inTheBooks: 'returned' },
  shown: ({ paymentRail }) => ({
    ...{ ...nothing, paymentRail, status: 'RETURNED', returnReasonCode },
    returnedAt: expect.any(String),
  }),
});

/** Before the bank had it, or because the bank rejected it. */
const fails = (
  ending: string,
  from: 'QUEUED' | 'PROCESSING',
  reason: (way: Way) => { readonly failureCode: string; readonly failureMessage: RegExp },
): ExpectedOutcome => ({
  ...{ ...usual, ending, inTheBooks: null },
  transitions: [...(from === 'QUEUED' ? [queued] : submitted), [from, 'FAILED']],
  shown: (way) => {
    const { failureCode, failureMessage } = reason(way);
    return {
      ...{ paymentRail: way.paymentRail, status: 'FAILED', failureCode },
      ...{ failureMessage: expect.stringMatching(failureMessage), completedAt: null },
    };
  },
});

const contact = 'INVALID_CONTACT_DATA';
const originator = 'INVALID_ORIGINATOR_DATA';
const account = /bankAccount\.achAccountNumber/;
const internal = () => ({ failureCode: 'INTERNAL_ERROR', failureMessage: /\S/ });
const isAch = ({ paymentRail }: Way) => paymentRail === 'ACH';

const stays = (
  ending: string,
  status: Status,
  transitions: readonly Transition[],
  inTheBooks: ExpectedOutcome['inTheBooks'],
): ExpectedOutcome => ({
  ...{ ...usual, ending, transitions, inTheBooks },
  shown: ({ paymentRail }) => ({ ...nothing, paymentRail, status, completedAt: null }),
});

export const outcomes: readonly ExpectedOutcome[] = [
  completes('1234'),
  completes('0621', true),
  returns('0101', 'R01'),
  returns('0622', 'R03'),
  returns('0199', null),
  returns('9085', 'R85'),
  fails('0201', 'QUEUED', () => ({ failureCode: contact, failureMessage: account })),
  fails('0202', 'QUEUED', () => ({ failureCode: originator, failureMessage: account })),
  fails('0203', 'QUEUED', internal),
  fails('0204', 'PROCESSING', internal),
  fails('0611', 'PROCESSING', () => ({
    failureCode: contact,
    failureMessage: /bankAccount\.achAccountNumber.* is closed/,
  })),
  fails('0612', 'PROCESSING', () => ({
    failureCode: contact,
    failureMessage: /bankAccount\.(achRoutingNumber|swiftCode)/,
  })),
  // ACH has no code about the originator's data.
  fails('0613', 'PROCESSING', (way) =>
    isAch(way) ? internal() : { failureCode: originator, failureMessage: /bankAccount\./ },
  ),
  stays('0301', 'BLOCKED', [queued, ['QUEUED', 'BLOCKED']], null),
  stays('0501', 'QUEUED', [queued], null),
  stays('0502', 'PROCESSING', submitted, 'pending'),
  { ...stays('0401', 'FAILED_IN_FLIGHT', late, 'pending'), isLate: true },
  {
    ...{ ...completes('0402'), isLate: true },
    transitions: [...late, ['FAILED_IN_FLIGHT', 'COMPLETED']],
  },
];
