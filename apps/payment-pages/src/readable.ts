/**
 * What others wrote, as a page may show it beside its own words. Characters that set the direction of the text behind
 * them (UAX #9, explicit formatting) are left out: after a name with one of them, the total would read backwards.
 * Letters of scripts that run from right to left stay as they are.
 */
import type { ExpiredLinkPayment, LinkPayment } from './link-pages.js';

const directions = /[\u202a-\u202e\u2066-\u2069]/g;

export function readableCreator<Payment extends ExpiredLinkPayment>(payment: Payment): Payment {
  const { organizationName, originatorName } = payment;
  return {
    ...payment,
    organizationName: readable(organizationName),
    originatorName: originatorName && readable(originatorName),
  };
}

export function readablePayment(payment: LinkPayment): LinkPayment {
  const { holder, paymentNote } = payment;
  return {
    ...readableCreator(payment),
    holder: holder && { ...holder, name: readable(holder.name) },
    paymentNote: paymentNote && readable(paymentNote),
  };
}

function readable(text: string): string {
  return text.replaceAll(directions, '');
}
