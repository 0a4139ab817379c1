/**
 * Which payment the token of a link belongs to, from the log. The use case has written most rows before: here
 * those come back that were lost, and those of canceled payments are disabled.
 */
import { payment, streamNameOf } from '@pis/domain';
import { domainEventOf, type RecordedEvent } from '@pis/event-store';
import { asUnreadable, type ReadTable, UnreadableStreams } from './projection.js';
import { disableLinks, insertLinks, type StoredLink } from './payment-link-table.js';

export const paymentLinksTable: ReadTable = {
  name: 'payment_links',
  writesBy: ['payment_id'],
  async write(client, target, events) {
    const begun = new Map<string, StoredLink>();
    const canceled = new Map<string, string>();
    for (const event of events) {
      const name = streamNameOf(event.streamId);
      if (name?.category !== 'payment') continue;
      if (event.type === 'PaymentAwaitingConfirmation') {
        const link = linkIn(event);
        if (link !== null) begun.set(name.id, link);
      }
      if (event.type === 'PaymentCanceled') canceled.set(name.id, event.metadata.at);
    }
    if (begun.size > 0) await insertLinks(client, target, [...begun.values()]);
    if (canceled.size > 0) await disableLinks(client, target, canceled);
  },
};

/** Null for a link of an older release, which has no token. @throws UnreadableStreams */
function linkIn(recorded: RecordedEvent): StoredLink | null {
  try {
    const event = domainEventOf(payment, recorded);
    if (event.type !== 'PaymentAwaitingConfirmation') return null;
    const { paymentId, organizationId, contactId, link } = event.data;
    const { tokenDigest, expiresAt, counterpartyId } = link;
    if (tokenDigest === '') return null;
    const unsavedId = contactId === null ? counterpartyId : null;
    return { tokenDigest, paymentId, organizationId, expiresAt, counterpartyId: unsavedId };
  } catch (cause) {
    throw new UnreadableStreams([asUnreadable(recorded, cause)]);
  }
}
