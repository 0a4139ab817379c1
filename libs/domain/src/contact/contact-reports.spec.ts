/** Whether a contact's bank account is active: what its bank has reported, and when that no longer counts. */
import { at, bankAccountExample, contactExample, fold, given, ids, later } from '../testing.js';
import {
  contact,
  type ContactCommand,
  type ContactEvent,
  hasActiveAccount,
  type ReportedReturn,
} from './contact.js';

const record = contactExample();
const created: ContactEvent = { type: 'ContactCreated', at, data: record };
const returnOf = (changes: Partial<ReportedReturn> = {}): ReportedReturn => ({
  paymentId: ids.payment,
  returnReasonCode: 'R02',
  returnedAt: later,
  ...changes,
});
const reported = (changes: Partial<ReportedReturn> = {}): ContactEvent => ({
  type: 'ContactReturnReported',
  at: later,
  data: returnOf(changes),
});
const report = (changes: Partial<ReportedReturn> = {}): ContactCommand => ({
  type: 'ReportContactReturn',
  at: later,
  data: returnOf(changes),
});
const correctedData = { paymentId: ids.payment, changeCode: 'C01', corrected: 'v2.sealed' };
const corrected: ContactEvent = {
  type: 'ContactCorrectionReported',
  at: later,
  data: correctedData,
};
const otherCorrection: ContactEvent = {
  type: 'ContactCorrectionReported',
  at: later,
  data: { ...correctedData, changeCode: 'C02', corrected: 'v2.other' },
};
const dismissed: ContactEvent = {
  type: 'ContactCorrectionDismissed',
  at: later,
  data: { paymentId: ids.payment, changeCode: 'C01' },
};
const newAccount: ContactEvent = {
  type: 'ContactUpdated',
  at: later,
  data: {
    changes: { bankAccount: bankAccountExample({ sealed: 'v2.other' }) },
    identity: 'identity-2',
  },
};
const newName: ContactEvent = {
  type: 'ContactUpdated',
  at: later,
  data: { changes: { firstName: 'Adah' }, identity: 'identity-2' },
};

function isActive(...history: readonly ContactEvent[]): boolean {
  const state = fold(contact, history);
  if (state === null) throw new Error('no contact');
  return hasActiveAccount(state);
}

describe('an account is active', () => {
  it('unless there is none', () => {
    expect(isActive(created)).toBe(true);
    expect(isActive({ ...created, data: contactExample({ bankAccount: null }) })).toBe(false);
  });

  it.each(['R02', 'R03', 'R04', 'R20'])('unless its last return was %s', (returnReasonCode) => {
    expect(isActive(created, reported({ returnReasonCode }))).toBe(false);
    expect(isActive(created, reported({ returnReasonCode }), newName)).toBe(false);
    expect(isActive(created, reported({ returnReasonCode }), newAccount)).toBe(true);
  });

  it.each(['R01', 'R07', null])('after a return with %s', (returnReasonCode) => {
    expect(isActive(created, reported({ returnReasonCode }))).toBe(true);
    expect(isActive(created, reported(), reported({ returnReasonCode }))).toBe(true);
  });

  it('unless a notification of change is unanswered', () => {
    expect(isActive(created, corrected)).toBe(false);
    expect(isActive(created, corrected, newAccount)).toBe(true);
    expect(isActive(created, corrected, dismissed)).toBe(true);
    expect(isActive(created, corrected, dismissed, otherCorrection)).toBe(false);
  });
});

describe('a correction that the client dismisses', () => {
  const dismiss: ContactCommand = {
    type: 'DismissContactCorrection',
    at: later,
    data: { paymentId: ids.payment, changeCode: 'C01' },
  };
  const again: ContactCommand = {
    type: 'ReportContactCorrection',
    at: later,
    data: correctedData,
  };

  it('is answered once, and stays answered when it is reported again', () => {
    given(contact, created, corrected).when(dismiss).then(dismissed);
    given(contact, created, corrected, dismissed).when(dismiss).thenNothing();
    given(contact, created, corrected, dismissed).when(again).thenNothing();
  });

  it('must be the one that the client has seen', () => {
    given(contact, created).when(dismiss).thenRefused('CORRECTION_NOT_FOUND');
    given(contact, created, corrected, otherCorrection)
      .when(dismiss)
      .thenRefused('CORRECTION_NOT_FOUND');
    given(contact, created, corrected, newAccount)
      .when(dismiss)
      .thenRefused('CORRECTION_NOT_FOUND');
  });
});

describe('a return', () => {
  it('is noted once', () => {
    given(contact, created).when(report()).then(reported());
    given(contact, created, reported()).when(report()).thenNothing();
  });

  it('does not replace a later one that was reported first', () => {
    const earlier = report({ returnReasonCode: 'R01', returnedAt: at });
    given(contact, created, reported()).when(earlier).thenNothing();
  });

  it('is not noted on somebody who is being erased, or does not exist', () => {
    const erasure: ContactEvent = {
      type: 'ContactErasureRequested',
      at: later,
      data: { reason: 'asked', by: 'user:cli:ada', overridesRetention: false },
    };
    given(contact, created, erasure).when(report()).thenNothing();
    given(contact).when(report()).thenRefused('CONTACT_NOT_FOUND');
  });
});

describe('the counterparty of a link that is no saved contact', () => {
  const data = {
    contactId: ids.contact,
    organizationId: ids.organization,
    originatorId: ids.originator,
    entityType: 'INDIVIDUAL',
  } as const;
  const noted: ContactEvent = { type: 'UnsavedContactNoted', at, data };

  it('is noted once for its erasure, with nothing that tells who it is', () => {
    given(contact).when({ type: 'NoteUnsavedContact', at, data }).then(noted);
    given(contact, noted).when({ type: 'NoteUnsavedContact', at, data }).thenNothing();
    given(contact, created).when({ type: 'NoteUnsavedContact', at, data }).thenNothing();
    const state = given(contact, noted).when({ type: 'NoteUnsavedContact', at, data }).state();
    expect(state).toMatchObject({ unsaved: true, firstName: null, email: null, bankAccount: null });
  });

  it('cannot be changed like a contact', () => {
    const changes = { firstName: 'Ada' };
    given(contact, noted)
      .when({ type: 'UpdateContact', at, data: { changes, identity: 'identity-1' } })
      .thenRefused('CONTACT_NOT_FOUND');
  });
});
