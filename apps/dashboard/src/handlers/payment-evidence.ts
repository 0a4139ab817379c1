/**
 * The life of a payment as one file, HTML or a PDF with proofs, for operators and whoever else may see visitors of links.
 * Of the addresses, those of API keys and payers are opened; a user of the dashboard sees only their own. Of a file
 * at the bank, which has entries of other organizations too, the size is left out.
 */
import { Readable } from 'node:stream';
import { proveStream } from '@pis/audit';
import {
  htmlOfReport,
  type LifeSources,
  paymentLife,
  type PaymentLife,
  proofBundle,
  reportOfLife,
} from '@pis/audit/life';
import { listArchive } from '@pis/bank-rails/connections';
import { payment as payments, streamIdOf } from '@pis/domain';
import { type EventStore, repository } from '@pis/event-store';
import { notFound, Turns } from '@pis/http-api';
import { deliveriesOfEvents } from '@pis/webhook-deliveries';
import type pg from 'pg';
import type { evidenceOperations } from '../operations/payment-evidence.js';
import type { RecordedActions } from '../recorded-actions.js';
import type { Handlers } from '../routes.js';

export interface EvidenceServices {
  readonly store: EventStore;
  readonly pool: pg.Pool;
  readonly actions: RecordedActions;
}

/** Of one payment. */
const filesMax = 1_000;
/** For a checkpoint that covers the payment. */
const proofWait = { timeoutMs: 8_000, pollMs: 250 } as const;
/** Files of one organization. The process does nothing else while it makes one, and a PDF takes about a tenth of a second. */
const fileTurns = { atOnceMax: 2, sizeMax: 10 } as const;
const contentTypes = { html: 'text/html; charset=utf-8', pdf: 'application/pdf' } as const;

export function evidenceHandlers({
  store,
  pool,
  actions,
}: EvidenceServices): Handlers<keyof typeof evidenceOperations> {
  const records = repository(store, payments);
  const sources = sourcesOf(store, pool);
  const turns = new Turns(fileTurns);
  return {
    async downloadEvidence({ organizationId, user, ids: { paymentId }, query, by, reply }) {
      const { state } = await records.load(paymentId);
      if (state?.organizationId !== organizationId) throw notFound('payment');
      const action = { name: 'downloadEvidence', user, subject: { paymentId } } as const;
      const { format } = query;
      const make = async () => {
        const life = await paymentLife(sources, paymentId, null);
        if (life === null) throw notFound('payment');
        return format === 'pdf'
          ? pdfOf(withoutUsers(life))
          : htmlOfReport(reportOfLife(withoutUsers(life)));
      };
      const file = await turns.take(organizationId, () => actions.run(action, by, make));
      reply
        .type(contentTypes[format])
        .header('Content-Disposition', `attachment; filename="payment-${paymentId}.${format}"`);
      return Readable.from([file]);
    },
  };

  /** @throws StoreUnavailable when no checkpoint covers the payment in time */
  async function pdfOf(life: PaymentLife): Promise<Buffer> {
    const { paymentId } = life;
    const proof = await proveStream({ store, pool }, streamIdOf('payment', paymentId), proofWait);
    const { pdfOfReport } = await import('@pis/audit/evidence');
    const bundle = proofBundle(paymentId, proof);
    return pdfOfReport(reportOfLife(life), { bundle, createdAt: new Date() });
  }
}

function withoutUsers(life: PaymentLife): PaymentLife {
  const events = life.events.map((event) =>
    event.addressOwner?.startsWith('user:') === true ? { ...event, address: null } : event,
  );
  return { ...life, events };
}

function sourcesOf(store: EventStore, pool: pg.Pool): LifeSources {
  return {
    ...{ store, openAddresses: true },
    async files(paymentId) {
      const files = await listArchive(pool, { paymentId, max: filesMax });
      return files.map(({ createdAt: at, ...file }) => ({ at, ...file, sizeBytes: null }));
    },
    async deliveries(organizationId, eventIds) {
      const deliveries = await deliveriesOfEvents(pool, organizationId, eventIds);
      return deliveries.map((delivery) => ({
        ...delivery,
        ...{ at: delivery.createdAt.toISOString(), deliveryId: delivery.id },
        ...{ webhookId: delivery.endpointId, lastStatusCode: delivery.lastStatus },
        finishedAt: delivery.finishedAt?.toISOString() ?? null,
      }));
    },
  };
}
