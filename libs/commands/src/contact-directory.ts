/**
 * Creating and changing contacts so that no two of an originator are the same, under concurrent requests and
 * after a crash between any two appends. The domain's contact-identity.ts has the protocol.
 *
 * What always holds: a contact is written only after its identity was reserved for it. A reservation is
 * taken from another contact only after an event on that contact's stream makes its update under way fail.
 * The contact of a reservation may never have been created, because its creator died or is still at work.
 * Such a reservation goes to the next request that wants it. A creation then creates that contact under the
 * reserved id. A change into it first makes a creation under that id impossible. The first writer to the
 * stream of that id has won. A creator that lost tries again and finds the identity in use.
 */
import { randomUUID } from 'node:crypto';
import {
  type ContactCreateRequest,
  type ContactPatchRequest,
  contactPatchSchema,
  type Validated,
  validatePatch,
} from '@pis/contracts';
import {
  type Contact,
  contact as contacts,
  contactIdentity as identities,
  type ContactIdentityState,
  isRefusal,
  originator as originators,
  type PartyProfile,
  type Refusal,
} from '@pis/domain';
import {
  againOnConflict,
  type CommandContext,
  type EventStore,
  type Loaded,
  repository,
  StoreUnavailable,
  WrongExpectedRevision,
} from '@pis/event-store';
import { type Keyring, ownerOf } from '@pis/keyring';
import { PartyAccounts } from './party-accounts.js';
import {
  type BankUseCaseOptions,
  type InvalidRequest,
  invalidRequest,
  isUsable,
  now,
  type OwnWrites,
  unlessErased,
} from './use-case.js';

/** Another contact of the originator has these details, or is about to have them. */
type DuplicateContact = Refusal<'DUPLICATE_CONTACT'>;
const duplicate: DuplicateContact = { refused: 'DUPLICATE_CONTACT' };

export type ContactCreationRefusal = Refusal<'ORIGINATOR_NOT_FOUND'> | DuplicateContact;
export type ContactUpdateRefusal = Refusal<'CONTACT_NOT_FOUND'> | InvalidRequest | DuplicateContact;

type Reservation = Loaded<ContactIdentityState>;

export class ContactDirectory {
  private readonly store: EventStore;
  private readonly keyring: Keyring;
  private readonly ownWrites: OwnWrites;
  private readonly accounts;
  private readonly contacts;
  private readonly identities;
  private readonly originators;

  constructor({ store, keyring, banks, ownWrites, states }: BankUseCaseOptions) {
    this.store = store;
    this.keyring = keyring;
    this.ownWrites = ownWrites;
    this.accounts = new PartyAccounts(keyring, banks);
    this.contacts = repository(store, contacts, { states });
    this.identities = repository(store, identities, { states });
    this.originators = repository(store, originators, { states });
  }

  /** @throws StoreUnavailable */
  async create(
    organizationId: string,
    request: ContactCreateRequest,
    context: CommandContext,
  ): Promise<Contact | ContactCreationRefusal> {
    const fingerprint = this.accounts.fingerprintOf(request.bankAccount);
    const identity = this.identityOf(organizationId, request.originatorId, request, fingerprint);
    return againOnConflict(this.store, this.identities.streamIdOf(identity), async () => {
      // A new id each time: the former one, if it was reserved, may be a rival's contact by now.
      const newId = randomUUID();
      const [{ state: originator }, reserved] = await Promise.all([
        this.originators.load(request.originatorId, organizationId),
        this.identities.load(identity, organizationId),
      ]);
      if (!isUsable(originator, organizationId))
        return { refused: 'ORIGINATOR_NOT_FOUND' } as const;

      const { holder } = reserved.state;
      const isAbandoned =
        holder !== null &&
        (await this.contacts.load(holder, organizationId)).revision === 'noStream';
      const what = { organizationId, identity, request };
      if (isAbandoned) return this.append(holder, what, context);
      const wanting = { organizationId, contactId: newId };
      const refusal = await this.reserve(identity, reserved, wanting, context);
      return refusal ?? this.append(newId, what, context);
    });
  }

  /**
   * Applies a PATCH; one that changes nothing writes nothing.
   * @param body as it was sent: which names may be cleared depends on the contact
   * @throws StoreUnavailable
   */
  update(
    organizationId: string,
    contactId: string,
    body: unknown,
    context: CommandContext,
  ): Promise<Contact | ContactUpdateRefusal> {
    return this.updateUnless<never>(organizationId, contactId, body, context, () => null);
  }

  /**
   * As `update`, unless the very contact that would be changed is refused.
   * @throws StoreUnavailable
   */
  async updateUnless<Refused extends Refusal<string>>(
    organizationId: string,
    contactId: string,
    body: unknown,
    context: CommandContext,
    refusalOf: (current: Contact) => Refused | null,
  ): Promise<Contact | ContactUpdateRefusal | Refused> {
    const updating = againOnConflict(this.store, this.contacts.streamIdOf(contactId), async () => {
      const loaded = await this.contacts.load(contactId, organizationId);
      const current = isUsable(loaded.state, organizationId) ? loaded.state : null;
      const patch: Validated<ContactPatchRequest> = validatePatch(
        contactPatchSchema,
        body,
        current?.entityType ?? null,
      );
      if (!patch.ok) return invalidRequest(patch.problems);
      if (current === null) return { refused: 'CONTACT_NOT_FOUND' } as const;
      const refusal = refusalOf(current);
      if (refusal !== null) return refusal;

      const command = await this.updateOf(current, patch.value);
      const decision = contacts.decide(command, current);
      if (isRefusal(decision)) throw new Error(`a loaded contact refused: ${decision.refused}`);
      if (decision.length === 0) {
        // An earlier request may have made this change, and its answer was lost.
        this.ownWrites.note('directory', organizationId, loaded.lastEvent?.position ?? null);
        return current;
      }

      const moved = await this.moveTo(command.data.identity, current, context);
      if ('refused' in moved) return moved;
      const { state, position } = await this.contacts.append(contactId, loaded, decision, context);
      this.ownWrites.note('directory', organizationId, position);
      if (moved.former) await this.release(current.identity, moved.former, contactId, context);
      if (state === null) throw new Error('an updated contact is missing');
      return state;
    });
    return unlessErased(updating, () => ({ refused: 'CONTACT_NOT_FOUND' }) as const);
  }

  private async updateOf(current: Contact, patch: ContactPatchRequest) {
    const { organizationId, contactId, originatorId } = current;
    const owner = ownerOf.contact(contactId);
    const changes = await this.accounts.changes(current, owner, patch);
    const fingerprint = patch.bankAccount
      ? this.accounts.fingerprintOf(patch.bankAccount)
      : await this.accounts.fingerprintAtRest(
          patch.bankAccount === null ? null : current.bankAccount,
          owner,
        );
    const profile = { ...current, ...changes };
    const identity = this.identityOf(organizationId, originatorId, profile, fingerprint);
    return { type: 'UpdateContact', at: now(), data: { changes, identity } } as const;
  }

  /**
   * Reserves `identity` for a contact that changes into it.
   * @returns its former reservation, null when the identity stays the same
   * @throws WrongExpectedRevision when another writer was faster
   */
  private async moveTo(
    identity: string,
    { contactId, organizationId, identity: formerIdentity }: Contact,
    context: CommandContext,
  ): Promise<{ readonly former: Reservation | null } | DuplicateContact> {
    if (identity === formerIdentity) return { former: null };
    const [wanted, former] = await Promise.all([
      this.identities.load(identity, organizationId),
      this.identities.load(formerIdentity, organizationId),
    ]);
    const refusal = await this.reserve(identity, wanted, { organizationId, contactId }, context);
    return refusal ?? { former };
  }

  /**
   * @returns null when it is reserved, a refusal when another contact uses it or is about to
   * @throws WrongExpectedRevision when another writer was faster
   */
  private async reserve(
    identity: string,
    reserved: Reservation,
    { organizationId, contactId }: Pick<Contact, 'organizationId' | 'contactId'>,
    context: CommandContext,
  ): Promise<DuplicateContact | null> {
    const { holder } = reserved.state;
    if (holder !== null && holder !== contactId) {
      const refusal = await this.forfeit(organizationId, holder, identity, context);
      if (refusal !== null) return refusal;
    }
    const data = { contactId, insteadOf: holder === contactId ? null : holder };
    const command = { type: 'ReserveContactIdentity', at: now(), data } as const;
    const result = await this.identities.record(identity, reserved, [command], context);
    return 'refused' in result ? duplicate : null;
  }

  /**
   * Makes the holder give up an identity that it does not use, or its creation if that never ended.
   * @returns null when it gave it up, a refusal when it uses it
   * @throws WrongExpectedRevision when it was created meanwhile
   */
  private async forfeit(
    organizationId: string,
    holder: string,
    identity: string,
    context: CommandContext,
  ): Promise<DuplicateContact | null> {
    const loaded = await this.contacts.load(holder, organizationId);
    const type = loaded.state === null ? 'ForfeitContactCreation' : 'ForfeitContactIdentity';
    const command = { type, at: now(), data: { identity } } as const;
    const result = await this.contacts.record(holder, loaded, [command], context);
    if (!('refused' in result)) return null;
    // The caller may have created it, and the answer was lost. The next list must show it.
    const { state, lastEvent } = loaded;
    if (state !== null)
      this.ownWrites.note('directory', state.organizationId, lastEvent?.position ?? null);
    return duplicate;
  }

  /** @throws WrongExpectedRevision when the contact was created meanwhile */
  private async append(
    contactId: string,
    what: { organizationId: string; identity: string; request: ContactCreateRequest },
    context: CommandContext,
  ): Promise<Contact> {
    const { organizationId, identity, request } = what;
    const { bankAccount, ...fields } = request;
    const sealed =
      bankAccount && (await this.accounts.seal(ownerOf.contact(contactId), bankAccount));
    const data = { contactId, organizationId, ...fields, bankAccount: sealed, identity };
    const command = { type: 'CreateContact', at: now(), data } as const;
    const nothing = this.contacts.fold([]);
    const created = await this.contacts.record(contactId, nothing, [command], context);
    if ('refused' in created) throw new Error(`a new contact was refused: ${created.refused}`);
    this.ownWrites.note('directory', organizationId, created.position);
    if (created.state === null) throw new Error('a created contact is missing');
    return created.state;
  }

  /**
   * Frees the identity that the contact had, only at the revision seen before the change: a later request
   * that changes the contact back has reserved it again. Not freeing it does no harm: the next request that
   * wants it makes this contact forfeit it.
   */
  private async release(
    identity: string,
    former: Reservation,
    contactId: string,
    context: CommandContext,
  ): Promise<void> {
    const command = { type: 'ReleaseContactIdentity', at: now(), data: { contactId } } as const;
    try {
      await this.identities.record(identity, former, [command], context);
    } catch (error) {
      const isLeft = error instanceof WrongExpectedRevision || error instanceof StoreUnavailable;
      if (!isLeft) throw error;
    }
  }

  /** A keyed MAC, so that the store does not reveal the contacts of an originator (rule party-input-15). */
  private identityOf(
    organizationId: string,
    originatorId: string,
    party: Pick<PartyProfile, 'entityType' | 'firstName' | 'lastName' | 'companyName' | 'email'>,
    fingerprint: string | null,
  ): string {
    const { entityType, firstName, lastName, companyName, email } = party;
    const name = entityType === 'INDIVIDUAL' ? [firstName, lastName] : [companyName];
    const key = [
      organizationId,
      originatorId,
      entityType,
      name,
      email?.toLowerCase() ?? null,
      fingerprint,
    ];
    return this.keyring.mac('contact-identity', JSON.stringify(key).normalize('NFC'));
  }
}
