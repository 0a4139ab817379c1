/**
 * Notes on a saved contact what its bank reports about its account: a notification of change, or a return. The
 * account is not changed: the client decides. Whether it is active follows from these notes.
 *
 * A payment may have gone to another account, which its link has asked for or which the contact had before.
 * Reports about that account say nothing about this one, and are not noted.
 */
import {
  type Contact,
  contact as contacts,
  type ContactCommand,
  type Payment,
  type PaymentCorrection,
} from '@pis/domain';
import { againOnConflict, type EventStore, repository } from '@pis/event-store';
import { fingerprintAtRest, KeyDestroyed, type Keyring, ownerOf } from '@pis/keyring';
import { now } from './use-case.js';

export class ContactReports {
  private readonly contacts;

  /** @param actor who appends, for the metadata of the events: `system:<app>` */
  constructor(
    private readonly store: EventStore,
    private readonly keyring: Keyring,
    private readonly actor: string,
  ) {
    this.contacts = repository(store, contacts);
  }

  /** Noting it again changes nothing. @throws StoreUnavailable, WrongExpectedRevision */
  async noteCorrection(payment: Payment, correction: PaymentCorrection): Promise<void> {
    const data = { paymentId: payment.paymentId, ...correction };
    await this.note(payment, { type: 'ReportContactCorrection', at: now(), data });
  }

  /** Of a payment that is RETURNED. As noteCorrection. */
  async noteReturn(payment: Payment): Promise<void> {
    const { paymentId, returnReasonCode, returnedAt } = payment;
    if (returnedAt === null) return;
    const data = { paymentId, returnReasonCode, returnedAt };
    await this.note(payment, { type: 'ReportContactReturn', at: now(), data });
  }

  /** A counterparty that is no saved contact has no record to note it on. */
  private async note(payment: Payment, command: ContactCommand): Promise<void> {
    const { contactId } = payment;
    if (contactId === null) return;
    const context = {
      actor: this.actor,
      requestId: null,
      correlationId: payment.paymentId,
      causationId: null,
      traceparent: null,
    };
    await againOnConflict(this.store, this.contacts.streamIdOf(contactId), async () => {
      const loaded = await this.contacts.load(contactId);
      if (!(await this.hasSameAccount(payment, loaded.state))) return;
      await this.contacts.record(contactId, loaded, [command], context);
    });
  }

  private async hasSameAccount(payment: Payment, contact: Contact | null): Promise<boolean> {
    const [used, current] = [payment.contact?.bankAccount, contact?.bankAccount];
    if (!contact || !used || !current) return false;
    // The snapshot of the record that a payment of the API has.
    if (used.sealed === current.sealed) return true;
    const owner = ownerOf.contact(contact.contactId);
    try {
      const [one, other] = await Promise.all([
        fingerprintAtRest(this.keyring, used, owner),
        fingerprintAtRest(this.keyring, current, owner),
      ]);
      return one === other;
    } catch (error) {
      // Of somebody who was erased nothing is noted.
      if (error instanceof KeyDestroyed) return false;
      throw error;
    }
  }
}
