/** What is told of a payment, as a document: rendered as HTML (report-html.ts) or as a PDF (report-pdf.ts). */
import {
  type Facts,
  factsOfDelivery,
  factsOfEvent,
  factsOfFile,
  titleOfFile,
} from './life-facts.js';
import { type PaymentDiff, placeText, valueText } from './payment-diff.js';
import type { PaymentLife } from './payment-life.js';
import { durationText, type Timeline } from './timeline.js';

export interface Report {
  readonly title: string;
  readonly facts: Facts;
  readonly sections: readonly ReportSection[];
}

export interface ReportSection {
  readonly title: string;
  readonly items: readonly ReportItem[];
}

export interface ReportItem {
  readonly head: string;
  readonly facts: Facts;
}

export function reportOfLife(life: PaymentLife): Report {
  const { events, files, deliveries } = life;
  return {
    title: `Payment ${life.paymentId}`,
    facts: [['status', life.status ?? 'not created yet']],
    sections: [
      {
        title: 'Events',
        items: events.map((event) => ({
          head: `${event.at}  ${event.type}`,
          facts: [
            ...factsOfEvent(event),
            ['event', `${event.eventId}, revision ${event.revision}`],
          ],
        })),
      },
      {
        title: 'Files and messages at the bank',
        items: files.map((file) => ({
          head: `${file.at}  ${titleOfFile(file)}`,
          facts: factsOfFile(file),
        })),
      },
      {
        title: 'Webhook deliveries',
        items: deliveries.map((delivery) => ({
          head: `${delivery.at}  ${delivery.eventType}`,
          facts: factsOfDelivery(delivery),
        })),
      },
    ],
  };
}

export function reportOfTimeline({ paymentId, status, durationMs, entries }: Timeline): Report {
  return {
    title: `Timeline of payment ${paymentId}`,
    facts: [
      ['status', status ?? 'not created yet'],
      ['duration', durationText(durationMs)],
    ],
    sections: [
      {
        title: 'Timeline',
        items: entries.map(({ at, what, by, sincePreviousMs }) => ({
          head: `${at}  ${what}`,
          facts: [
            ...(by === null ? [] : [['by', by] as const]),
            ['after', durationText(sincePreviousMs)],
          ],
        })),
      },
    ],
  };
}

export function reportOfDiff({ paymentId, from, to, differences }: PaymentDiff): Report {
  return {
    title: `Changes of payment ${paymentId}`,
    facts: [
      ['from', placeText(from)],
      ['to', placeText(to)],
    ],
    sections: [
      {
        title: 'Fields',
        items: differences.map((one) => ({
          head: one.field,
          facts: [
            ['from', valueText(one.from)],
            ['to', valueText(one.to)],
          ],
        })),
      },
    ],
  };
}
