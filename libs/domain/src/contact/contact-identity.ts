/**
 * Contact identity: reserves a natural key for one contact, across concurrent requests.
 *
 * The stream is `contactIdentity-<keyed hash>`. Creating a contact reserves its identity, then appends
 * ContactCreated. An update that changes the identity reserves the new one, appends ContactUpdated, and
 * releases the old one. A crash between two appends leaves a reservation behind. The next contact that
 * wants the identity repairs it. If the reserved contact was never created, it is created under the
 * reserved ID, or it forfeits its creation to a contact that changes into the identity. If the contact has
 * another identity now, it forfeits this one first (contact.ts).
 */
import { type Aggregate, type Decision, type DomainCommand, type DomainEvent } from '../decider.js';

export type ContactIdentityEvent =
  | DomainEvent<'ContactIdentityReserved', { readonly contactId: string }>
  | DomainEvent<'ContactIdentityReleased', { readonly contactId: string }>;

export interface ContactIdentityState {
  /** The contact that holds the identity, or null. */
  readonly holder: string | null;
}

export type ContactIdentityCommand =
  /** `insteadOf` names the holder that is known to have forfeited it; null expects none. */
  | DomainCommand<
      'ReserveContactIdentity',
      { readonly contactId: string; readonly insteadOf: string | null }
    >
  | DomainCommand<'ReleaseContactIdentity', { readonly contactId: string }>;

export type ContactIdentityRefusal = 'IDENTITY_HELD';

function decide(
  command: ContactIdentityCommand,
  state: ContactIdentityState,
): Decision<ContactIdentityEvent, ContactIdentityRefusal> {
  const { at } = command;
  const { contactId } = command.data;
  if (command.type === 'ReleaseContactIdentity')
    return state.holder === contactId
      ? [{ type: 'ContactIdentityReleased', at, data: { contactId } }]
      : [];
  // Reserving it again appends an event, too: the new revision makes a rival's append conflict.
  if (
    state.holder !== null &&
    state.holder !== contactId &&
    state.holder !== command.data.insteadOf
  )
    return { refused: 'IDENTITY_HELD' };
  return [{ type: 'ContactIdentityReserved', at, data: { contactId } }];
}

export const contactIdentity: Aggregate<
  ContactIdentityState,
  ContactIdentityCommand,
  ContactIdentityEvent,
  ContactIdentityRefusal
> = {
  category: 'contactIdentity',
  initial: { holder: null },
  decide,
  evolve: (_state, event) => ({
    holder: event.type === 'ContactIdentityReserved' ? event.data.contactId : null,
  }),
  stateVersion: 1,
  schemaVersions: { ContactIdentityReserved: 1, ContactIdentityReleased: 1 },
};
