/** The life of a payment for a terminal. */
import {
  type Facts,
  factsOfDelivery,
  factsOfEvent,
  factsOfFile,
  titleOfFile,
} from './life-facts.js';
import type { PaymentLife } from './payment-life.js';

/** For a person: a paragraph for each event. */
export function textOfLife({ paymentId, status, events, files, deliveries }: PaymentLife): string {
  return [
    `payment ${paymentId}: ${status ?? 'not created yet'}`,
    ...events.map((event) => paragraph(`${event.at}  ${event.type}`, factsOfEvent(event))),
    ...files.map((file) => paragraph(`${file.at}  ${titleOfFile(file)}`, factsOfFile(file))),
    ...deliveries.map((one) =>
      paragraph(`${one.at}  webhook ${one.eventType}`, factsOfDelivery(one)),
    ),
  ].join('\n');
}

function paragraph(head: string, facts: Facts): string {
  return [head, ...facts.map(([name, value]) => `    ${name}: ${value}`)].join('\n');
}
