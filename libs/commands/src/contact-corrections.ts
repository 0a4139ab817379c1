/** Notes on a contact what its bank reports about its account. The account is not changed: the client decides. */
import { contact as contacts, type ReportedCorrection } from '@pis/domain';
import { type EventStore, repository } from '@pis/event-store';
import { now } from './use-case.js';

export class ContactCorrections {
  private readonly contacts;

  /** @param actor who appends, for the metadata of the events: `system:<app>` */
  constructor(
    store: EventStore,
    private readonly actor: string,
  ) {
    this.contacts = repository(store, contacts);
  }

  /**
   * Noting it again changes nothing. A counterparty that is no saved contact has no record to note it on.
   * @throws StoreUnavailable, WrongExpectedRevision
   */
  async note(contactId: string, correction: ReportedCorrection): Promise<void> {
    await this.contacts.execute(
      contactId,
      { type: 'ReportContactCorrection', at: now(), data: correction },
      {
        actor: this.actor,
        requestId: null,
        correlationId: correction.paymentId,
        causationId: null,
        traceparent: null,
      },
    );
  }
}
