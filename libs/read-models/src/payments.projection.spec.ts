import { payment, type PaymentEvent, type PaymentState, paymentStatuses } from '@pis/domain';
import { fold as foldDomain, paymentEvents, paymentHistories } from '@pis/domain/testing';
import { UnreadableEvent } from '@pis/event-store';
import { columnOf, fold, ProjectionBroken, storableText } from './projection.js';
import { type PaymentRow, paymentsTable } from './payments.projection.js';
import { recordedEvents } from './testing.js';

const streamId = `payment-${paymentEvents.queued.data.paymentId}`;

function project(history: readonly PaymentEvent[]): PaymentRow | null {
  return fold(paymentsTable, null, recordedEvents(streamId, history));
}

describe('the list of payments', () => {
  it.each(paymentStatuses)('shows a payment in %s like the single read', (status) => {
    for (const history of paymentHistories[status]) {
      const state: PaymentState = foldDomain(payment, history);
      if (state === null) throw new Error('the example is empty');
      const row = project(history);
      expect(row?.status).toBe(status);
      expect(row?.revision).toBe(history.length - 1);
      expect(row?.item).toEqual({
        paymentId: state.paymentId,
        status,
        createdAt: state.createdAt,
        completedAt: state.completedAt,
        failedAt: state.failedAt,
        returnedAt: state.returnedAt,
        canceledAt: state.canceledAt,
        paymentAmount: state.amountMinor,
        discountFee: state.discountFeeMinor,
        flatFee: state.flatFeeMinor,
        returnFee: state.returnFeeMinor,
        currencyCode: state.currencyCode,
        paymentRail: state.paymentRail,
        direction: state.direction,
        paymentNote: state.paymentNote,
        externalPaymentId: state.externalPaymentId,
        failureCode: state.failureCode,
        failureMessage: state.failureMessage,
        originator: withoutAccount(state.originator),
        contact: state.contact && withoutAccount(state.contact),
      });
    }
  });

  it('hides a counterparty that is not a saved contact until the payment is queued', () => {
    const unsaved = {
      ...paymentEvents.awaiting,
      data: { ...paymentEvents.awaiting.data, contact: paymentEvents.queued.data.contact },
    };
    expect(project([unsaved])?.item.contact).toBeNull();
    expect(project([unsaved, paymentEvents.canceled])?.item.contact).toBeNull();
    expect(project([unsaved, paymentEvents.queuedFromLink])?.item.contact).not.toBeNull();
  });

  it('holds no bank account, masked or sealed', () => {
    const text = JSON.stringify(project([paymentEvents.queued, paymentEvents.processing]));
    expect(text).not.toMatch(/sealed|achAccountNumber|achRoutingNumber|\*/);
  });

  it('changes nothing for events that arrive again', () => {
    const events = recordedEvents(streamId, [
      paymentEvents.queued,
      paymentEvents.processing,
      paymentEvents.completed,
    ]);
    const row = fold(paymentsTable, null, events);
    expect(fold(paymentsTable, row, events.slice(1))).toBe(row);
  });

  it('does not depend on how the events are divided into pages', () => {
    const history = [
      paymentEvents.queued,
      paymentEvents.processing,
      paymentEvents.failedInFlight,
      paymentEvents.completed,
      paymentEvents.returned,
    ];
    const events = recordedEvents(streamId, history);
    const whole = fold(paymentsTable, null, events);
    const oneByOne = events.reduce<PaymentRow | null>(
      (row, event) => fold(paymentsTable, row, [event]),
      null,
    );
    expect(oneByOne).toEqual(whole);
  });

  it.each([
    ['a gap', [paymentEvents.processing], 1, ProjectionBroken],
    ['a beginning that is none', [paymentEvents.completed], 0, UnreadableEvent],
    ['an unknown event', [{ ...paymentEvents.completed, type: 'PaymentHeld' }], 0, UnreadableEvent],
  ])('refuses %s rather than skip it', (_, history, revision, refusal) => {
    const events = recordedEvents(streamId, history, revision);
    expect(() => fold(paymentsTable, null, events)).toThrow(refusal);
  });

  it('stops at an event of a future schema version', () => {
    const [event] = recordedEvents(streamId, [paymentEvents.queued]);
    if (!event) throw new Error('the example is empty');
    const newer = { ...event, metadata: { ...event.metadata, schemaVersion: 99 } };
    expect(() => fold(paymentsTable, null, [newer])).toThrow(/schema version 99/);
  });
});

describe('what is stored for filters', () => {
  it('accepts any text that a client sends', () => {
    expect(storableText('a\0b\ud800c')).toBe('a\ufffdb\ufffdc');
    expect(storableText('Žluťoučký 🐎')).toBe('Žluťoučký 🐎');
    expect(columnOf('externalPaymentId')).toBe('external_payment_id');
  });
});

function withoutAccount({ bankAccount: _, ...party }: { readonly bankAccount: unknown }): object {
  return party;
}
