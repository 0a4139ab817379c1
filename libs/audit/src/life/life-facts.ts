/** What is told of each event, file and delivery, by name: the same in text, HTML and PDF. */
import { visibleText } from './visible-text.js';
import type { ShownDelivery, ShownEvent, ShownFees, ShownFile } from './payment-life.js';

export type Facts = readonly (readonly [name: string, value: string])[];

export function factsOfEvent(event: ShownEvent): Facts {
  const { railDecision, returnedAmount, amount, fees, approval, failureCode } = event;
  const rejected = railDecision?.rejected.map(
    ({ paymentRail, achService, code }) =>
      `${paymentRail}${achService === null ? '' : ` ${achService}`}: ${code}`,
  );
  return known([
    ['by', event.actor],
    ['key', event.keyId],
    ['address', event.address ?? sealedAddress(event)],
    ['request', event.requestId],
    ['trace', event.traceId],
    ['amount, in cents', amount === null ? null : `${amount} ${event.currencyCode ?? ''}`.trim()],
    ['fees, in cents', fees === null ? null : feesText(fees)],
    ['direction', event.direction],
    ['originator', event.originatorId],
    ['contact', event.contactId],
    ['requested by', approval === null ? null : `user:${approval.requestedBy}`],
    ['approved by', approval === null ? null : `user:${approval.approvedBy}`],
    ['failure', [failureCode, event.failureReason].filter((part) => part !== null).join(': ')],
    ['code of the return', event.returnReasonCode],
    ['rail', event.paymentRail],
    ['settles', railDecision?.expectedSettlementAt],
    ['not taken', rejected?.join(', ')],
    ['reference at the bank', event.railReference],
    ['reference of the return', event.returnReference],
    [
      event.type === 'PaymentReturned' ? 'less came back, in cents' : 'came back, in cents',
      returnedAmount === null ? null : String(returnedAmount),
    ],
  ]);
}

function feesText({ discountFee, flatFee, returnFee }: ShownFees): string {
  return `discount ${discountFee}, flat ${flatFee}, for a return ${returnFee}`;
}

export function titleOfFile({ way, rail, kind }: ShownFile): string {
  return visibleText(`${way === 'out' ? 'to the bank' : 'from the bank'}: ${rail} ${kind}`);
}

export function factsOfFile(file: ShownFile): Facts {
  return known([
    ['name', file.name],
    ['bytes', file.sizeBytes === null ? null : String(file.sizeBytes)],
    ['SHA-256', file.sha256],
    ['file', file.id],
  ]);
}

export function factsOfDelivery(delivery: ShownDelivery): Facts {
  const { lastStatusCode } = delivery;
  return known([
    ['to', delivery.url],
    ['state', delivery.state],
    ['attempts', String(delivery.attempts)],
    ['finished', delivery.finishedAt],
    ['last status', lastStatusCode === null ? null : String(lastStatusCode)],
    ['last error', delivery.lastError],
    ['delivery', delivery.deliveryId],
    ['event', delivery.eventId],
  ]);
}

function sealedAddress({ addressOwner }: ShownEvent): string | null {
  return addressOwner === null ? null : `sealed under the key of ${addressOwner}`;
}

function known(
  facts: readonly (readonly [name: string, value: string | null | undefined])[],
): Facts {
  return facts.flatMap(([name, value]) => (value ? [[name, visibleText(value)] as const] : []));
}
