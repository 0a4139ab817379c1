import { at, fold, given, ids, later } from '../testing.js';
import {
  collectionAmountMaxMinor,
  feePeriod,
  type FeePeriodEvent,
  reinitiatedBy,
} from './fee-period.js';
import type { FeePeriodRecord } from './fee-period-record.js';

const record: FeePeriodRecord = {
  feePeriodId: ids.payment,
  organizationId: ids.organization,
  originatorId: ids.originator,
  ...{ year: 2026, month: 10, timeZone: 'America/New_York' },
  ...{ to: '2026-11-01T04:00:00.000Z', upTo: '0042', after: null },
  ...{ discountFeeMinor: 312, flatFeeMinor: 50, returnFeeMinor: 400 },
  ...{ paymentsCompleted: 2, paymentsReturned: 1 },
};
const nothing = { discountFeeMinor: 0, flatFeeMinor: 0, returnFeeMinor: 0 };
const first = '6f1b2c1e-0c7a-4f0e-9d55-0d4a0c6f1b01';
const second = '6f1b2c1e-0c7a-4f0e-9d55-0d4a0c6f1b02';
const third = '6f1b2c1e-0c7a-4f0e-9d55-0d4a0c6f1b03';
const fourth = '6f1b2c1e-0c7a-4f0e-9d55-0d4a0c6f1b04';

const closed = (changes: Partial<FeePeriodRecord> = {}): FeePeriodEvent => ({
  type: 'FeePeriodClosed',
  at,
  data: { ...record, ...changes },
});
const started = (collectionId = first, time = at): FeePeriodEvent => ({
  type: 'FeeCollectionStarted',
  at: time,
  data: { collectionId, amountMinor: 762 },
});
const collected = (collectionId = first): FeePeriodEvent => ({
  type: 'FeesCollected',
  at,
  data: { collectionId },
});
const returned = (
  collectionId: string,
  nextAttemptAt: string | null,
  returnReasonCode = 'R01',
): FeePeriodEvent => ({
  type: 'FeeCollectionReturned',
  at,
  data: { collectionId, returnReasonCode, nextAttemptAt },
});
const givenUp = (cause: 'RETURNED' | 'NOT_SENT' | 'SENT_BEFORE', time = later): FeePeriodEvent => ({
  type: 'FeePeriodGivenUp',
  at: time,
  data: { cause },
});

const close = (changes: Partial<FeePeriodRecord> = {}) =>
  ({ type: 'CloseFeePeriod', at: later, data: { ...record, ...changes } }) as const;
const start = (collectionId = first, time = later) =>
  ({ type: 'StartFeeCollection', at: time, data: { collectionId } }) as const;
const recordCollected = (collectionId = first) =>
  ({ type: 'RecordFeesCollected', at: later, data: { collectionId } }) as const;
const recordReturned = (returnReasonCode: string | null, collectionId = first) =>
  ({ type: 'RecordFeesReturned', at: later, data: { collectionId, returnReasonCode } }) as const;
const recordFailed = (collectionId = first) =>
  ({
    type: 'RecordFeesFailed',
    at: later,
    data: { collectionId, status: 'FAILED', isUnsent: false },
  }) as const;

describe('a fee period', () => {
  it('is closed once, with its sums', () => {
    given(feePeriod).when(close()).then({ type: 'FeePeriodClosed', at: later, data: record });
    given(feePeriod, closed()).when(close()).thenRefused('FEE_PERIOD_ALREADY_CLOSED');
  });

  it('without fees is closed without a debit', () => {
    expect(given(feePeriod).when(close(nothing)).state()).toHaveProperty('status', 'FREE');
    given(feePeriod, closed(nothing)).when(start()).thenRefused('NOT_ALLOWED_IN_STATUS');
  });

  it.each<[string, Partial<FeePeriodRecord>]>([
    ['a negative sum', { flatFeeMinor: -1 }],
    ['a fraction of a cent', { discountFeeMinor: 0.5 }],
    ['an end before that of the period before', { after: { to: record.to, upTo: '0001' } }],
    ['a log that is shorter than before', { after: { to: at.replace('2026', '2025'), upTo: '9' } }],
  ])('is never closed with %s', (_what, changes) => {
    expect(() => given(feePeriod).when(close(changes))).toThrow(RangeError);
  });

  it('that was not closed is not collected', () => {
    given(feePeriod).when(start()).thenRefused('FEE_PERIOD_NOT_FOUND');
  });
});

describe('a collection', () => {
  it('starts once, for all three fees', () => {
    given(feePeriod, closed()).when(start()).then(started(first, later));
    given(feePeriod, closed(), started()).when(start()).thenNothing();
    given(feePeriod, closed(), started()).when(start(second)).thenRefused('NOT_ALLOWED_IN_STATUS');
    given(feePeriod, closed(), started(), collected())
      .when(start(second))
      .thenRefused('NOT_ALLOWED_IN_STATUS');
  });

  it('is recorded as collected once', () => {
    given(feePeriod, closed(), started())
      .when(recordCollected())
      .then({ type: 'FeesCollected', at: later, data: { collectionId: first } });
    given(feePeriod, closed(), started(), collected()).when(recordCollected()).thenNothing();
    given(feePeriod, closed()).when(recordCollected()).thenRefused('OTHER_COLLECTION');
    given(feePeriod, closed(), started())
      .when(recordCollected(second))
      .thenRefused('OTHER_COLLECTION');
  });

  it('that failed is given up: staff must look at it', () => {
    given(feePeriod, closed(), started())
      .when(recordFailed())
      .then(
        {
          type: 'FeeCollectionFailed',
          at: later,
          data: { collectionId: first, status: 'FAILED' },
        },
        givenUp('NOT_SENT'),
      );
  });

  it('that failed is recorded once', () => {
    const failedUnsent: FeePeriodEvent = {
      type: 'FeeCollectionFailed',
      at,
      data: { collectionId: first, status: 'FAILED', nextAttemptAt: later },
    };
    const again = recordFailed();
    given(feePeriod, closed(), started(), failedUnsent).when(again).thenNothing();
    given(feePeriod, closed(), started(), failedUnsent)
      .when({ ...again, data: { ...again.data, isUnsent: true } })
      .thenNothing();
    given(feePeriod, closed(), started(), collected()).when(again).thenNothing();
  });

  it('that failed before it was sent is started again after days, and given up after the fourth', () => {
    const events: FeePeriodEvent[] = [closed()];
    const dueAt = [
      '2026-11-22T09:00:01.500Z',
      '2026-11-24T09:00:01.500Z',
      '2026-12-01T09:00:01.500Z',
      null,
    ];
    const ofAll = [first, second, third, fourth];
    for (const [index, nextAttemptAt] of dueAt.entries()) {
      const collectionId = ofAll[index] ?? '';
      events.push(started(collectionId));
      const data = { collectionId, status: 'FAILED' } as const;
      const failedEvent: FeePeriodEvent = {
        type: 'FeeCollectionFailed',
        at: later,
        data: { ...data, nextAttemptAt },
      };
      given(feePeriod, ...events)
        .when({ type: 'RecordFeesFailed', at: later, data: { ...data, isUnsent: true } })
        .then(failedEvent, ...(nextAttemptAt === null ? [givenUp('NOT_SENT')] : []));
      events.push(failedEvent, ...(nextAttemptAt === null ? [givenUp('NOT_SENT')] : []));
      given(feePeriod, ...events)
        .when(start(ofAll[index + 1]))
        .thenRefused(nextAttemptAt === null ? 'NOT_ALLOWED_IN_STATUS' : 'TOO_EARLY');
    }
  });

  it('that was not sent does not count as presented to the bank', () => {
    const unsent: FeePeriodEvent = {
      type: 'FeeCollectionFailed',
      at,
      data: { collectionId: first, status: 'FAILED', nextAttemptAt: at },
    };
    given(feePeriod, closed(), started(), unsent, started(second))
      .when(recordReturned('R01', second))
      .then({ ...returned(second, '2026-11-24T09:00:01.500Z'), at: later });
  });

  it('that the bank settles after all is collected', () => {
    const failedEvent: FeePeriodEvent = {
      type: 'FeeCollectionFailed',
      at,
      data: { collectionId: first, status: 'FAILED_IN_FLIGHT' },
    };
    given(feePeriod, closed(), started(), failedEvent, givenUp('NOT_SENT'))
      .when(recordCollected())
      .then({ type: 'FeesCollected', at: later, data: { collectionId: first } });
  });

  it('that the bank settles after all collects the fees, whatever was started since', () => {
    const reopened: FeePeriodEvent = { type: 'FeePeriodReopened', at, data: {} };
    const again = [closed(), started(), givenUp('NOT_SENT'), reopened] as const;
    const data = { collectionId: first, withdrawnId: second };
    given(feePeriod, ...again)
      .when(recordCollected())
      .then({ type: 'FeesCollected', at: later, data: { collectionId: first } });
    const both = [...again, started(second)] as const;
    given(feePeriod, ...both)
      .when({ type: 'RecordFeesCollected', at: later, data })
      .then({ type: 'FeesCollected', at: later, data });
    const withdrawn: FeePeriodEvent = { type: 'FeesCollected', at, data };
    // It is the one whose return counts now, and which is presented again.
    given(feePeriod, ...both, withdrawn)
      .when(recordReturned('R01', second))
      .thenRefused('OTHER_COLLECTION');
    given(feePeriod, ...both, withdrawn)
      .when(recordReturned('R01'))
      .then({ ...returned(first, '2026-11-24T09:00:01.500Z'), at: later });
    given(feePeriod, ...both, withdrawn)
      .when(recordReturned('R10'))
      .then({ ...returned(first, null, 'R10'), at: later }, givenUp('RETURNED'));
  });

  it('that is settled beside another one is recorded once', () => {
    const data = { collectionId: first, otherId: second };
    const record = { type: 'RecordFeesDebitedTwice', at: later, data } as const;
    const twice: FeePeriodEvent = { type: 'FeesDebitedTwice', at: later, data };
    given(feePeriod, closed(), started()).when(record).thenRefused('OTHER_COLLECTION');
    given(feePeriod, closed(), started(), started(second)).when(record).then(twice);
    given(feePeriod, closed(), started(), started(second), twice).when(record).thenNothing();
  });

  it('is not started for more than an ACH entry can hold', () => {
    given(feePeriod, closed({ discountFeeMinor: collectionAmountMaxMinor }))
      .when(start())
      .then({ type: 'FeePeriodGivenUp', at: later, data: { cause: 'AMOUNT_TOO_LARGE' } });
  });

  it('is given up when the originator was erased, unless it is under way', () => {
    const giveUp = { type: 'GiveUpFeePeriod', at: later } as const;
    const data = { cause: 'ORIGINATOR_ERASED' } as const;
    given(feePeriod, closed())
      .when({ ...giveUp, data })
      .then({ type: 'FeePeriodGivenUp', at: later, data });
    given(feePeriod, closed(), started(), collected())
      .when({ ...giveUp, data })
      .thenRefused('NOT_ALLOWED_IN_STATUS');
  });
});

describe('a returned collection', () => {
  const inThreeDays = '2026-11-24T09:00:01.500Z';
  const inTenDays = '2026-12-01T09:00:01.500Z';

  it.each(['R01', 'R09'])('for %s is tried again two times, and then given up', (code) => {
    given(feePeriod, closed(), started(), collected())
      .when(recordReturned(code))
      .then({ ...returned(first, inThreeDays, code), at: later });
    const once = [closed(), started(), returned(first, inThreeDays)] as const;
    given(feePeriod, ...once)
      .when(start(second))
      .thenRefused('TOO_EARLY');
    given(feePeriod, ...once)
      .when(start(first, inThreeDays))
      .thenRefused('OTHER_COLLECTION');
    given(feePeriod, ...once)
      .when(start(second, inThreeDays))
      .then(started(second, inThreeDays));
    const twice = [...once, started(second)] as const;
    given(feePeriod, ...twice)
      .when(recordReturned(code, first))
      .thenRefused('OTHER_COLLECTION');
    given(feePeriod, ...twice)
      .when(recordReturned(code, second))
      .then({ ...returned(second, inTenDays, code), at: later });
    const thrice = [...twice, returned(second, inTenDays), started(third)] as const;
    given(feePeriod, ...thrice)
      .when(recordReturned(code, third))
      .then({ ...returned(third, null, code), at: later }, givenUp('RETURNED'));
    const ended = [...thrice, returned(third, null), givenUp('RETURNED')] as const;
    given(feePeriod, ...ended)
      .when(start(fourth))
      .thenRefused('NOT_ALLOWED_IN_STATUS');
  });

  it.each(['R02', 'R10', null])('for %s is not tried again', (code) => {
    const event = { type: 'FeeCollectionReturned', at: later } as const;
    const data = { collectionId: first, returnReasonCode: code, nextAttemptAt: null };
    given(feePeriod, closed(), started())
      .when(recordReturned(code))
      .then({ ...event, data }, givenUp('RETURNED'));
  });

  it('is recorded once', () => {
    given(feePeriod, closed(), started(), returned(first, inThreeDays))
      .when(recordReturned('R01'))
      .thenNothing();
  });

  it('is not presented a fourth time, whatever an earlier release has planned', () => {
    const thrice = [started(), returned(first, at), started(second), returned(second, at)] as const;
    given(feePeriod, closed(), ...thrice, started(third), returned(third, at))
      .when(start(fourth))
      .then(givenUp('RETURNED'));
  });

  it('is not tried again more than 180 days after the first one', () => {
    const long = '2026-05-20T09:00:00.000Z';
    given(feePeriod, closed(), started(first, long), collected())
      .when(recordReturned('R01'))
      .then({ ...returned(first, null), at: later }, givenUp('RETURNED'));
    given(feePeriod, closed(), started(first, '2026-06-01T09:00:00.000Z'), returned(first, at))
      .when(start(second, '2026-11-28T09:00:00.001Z'))
      .then({
        type: 'FeePeriodGivenUp',
        at: '2026-11-28T09:00:00.001Z',
        data: { cause: 'TOO_LATE' },
      });
  });
});

it('a collection presents the last returned one again, unless staff have started it', () => {
  const inThreeDays = '2026-11-24T09:00:01.500Z';
  const unsent: FeePeriodEvent = {
    type: 'FeeCollectionFailed',
    at,
    data: { collectionId: second, status: 'FAILED', nextAttemptAt: at },
  };
  const before = (collectionId: string, ...events: readonly FeePeriodEvent[]) => {
    const period = fold(feePeriod, events);
    if (period === null) throw new Error('there is no period');
    return reinitiatedBy(period, collectionId);
  };
  const once = [closed(), started(), collected(), returned(first, inThreeDays)] as const;
  expect(before(first, closed(), started())).toBeNull();
  expect(before(second, ...once, started(second))).toBe(first);
  expect(before(third, ...once, started(second), unsent, started(third))).toBe(first);
  const twice = [...once, started(second), returned(second, inThreeDays)] as const;
  expect(before(third, ...twice, started(third))).toBe(second);
  const reopened: FeePeriodEvent = { type: 'FeePeriodReopened', at, data: {} };
  const again = [...twice, givenUp('RETURNED'), reopened, started(third)] as const;
  expect(before(third, ...again)).toBeNull();
});

describe('a period that was given up', () => {
  const ended = [closed(), started(), returned(first, null), givenUp('RETURNED')] as const;
  const reopen = { type: 'ReopenFeePeriod', at: later, data: {} } as const;
  const reopened = { type: 'FeePeriodReopened', at: later, data: {} } as const;
  const tell = { type: 'RecordStaffTold', at: later, data: {} } as const;
  const told = { type: 'FeePeriodStaffTold', at: later, data: {} } as const;

  it('is told to staff once each time', () => {
    given(feePeriod, closed()).when(tell).thenNothing();
    given(feePeriod, ...ended)
      .when(tell)
      .then(told);
    given(feePeriod, ...ended, told)
      .when(tell)
      .thenNothing();
    const again = [...ended, told, reopened, started(second), givenUp('RETURNED')] as const;
    given(feePeriod, ...again)
      .when(tell)
      .then(told);
  });

  it('because the bank may have debited it before is reopened only when staff say that it has not', () => {
    const data = {
      collectionId: first,
      status: 'BLOCKED',
      isUnsent: true,
      isSentBefore: true,
    } as const;
    const sent = { type: 'RecordFeesFailed', at: later, data } as const;
    expect(given(feePeriod, closed(), started()).when(sent).state()).toHaveProperty(
      'givenUp',
      'SENT_BEFORE',
    );
    const before = [closed(), started(), givenUp('SENT_BEFORE')] as const;
    given(feePeriod, ...before)
      .when(reopen)
      .thenRefused('COLLECTION_SENT_BEFORE');
    given(feePeriod, ...before)
      .when({ ...reopen, data: { isNotDebited: true } })
      .then(reopened);
    expect(fold(feePeriod, [...before, reopened])).toHaveProperty('isVouchedFor', true);
    expect(fold(feePeriod, [...ended, reopened])).toHaveProperty('isVouchedFor', false);
  });

  it('is reopened once, and its collections count anew', () => {
    given(feePeriod, ...ended)
      .when(reopen)
      .then(reopened);
    given(feePeriod, ...ended, reopened)
      .when(reopen)
      .thenNothing();
    given(feePeriod, closed(), started(), collected()).when(reopen).thenNothing();
    const again = [...ended, reopened, started(second)] as const;
    given(feePeriod, ...again)
      .when(reopen)
      .thenNothing();
    given(feePeriod, ...again)
      .when(recordReturned('R01', second))
      .then({ ...returned(second, '2026-11-24T09:00:01.500Z'), at: later });
  });

  it.each(['ORIGINATOR_ERASED', 'AMOUNT_TOO_LARGE'] as const)(
    'is not reopened after %s',
    (cause) => {
      const event: FeePeriodEvent = { type: 'FeePeriodGivenUp', at, data: { cause } };
      given(feePeriod, closed(), event).when(reopen).thenRefused('NOT_ALLOWED_IN_STATUS');
    },
  );
});
