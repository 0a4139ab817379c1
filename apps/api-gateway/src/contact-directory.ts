/**
 * Creating and changing contacts so that no two of an originator are the same, under concurrent
 * requests and after a crash between any two appends (contact-identity.ts has the protocol).
 *
 * What always holds: a contact is written only after its identity was reserved for it, and a
 * reservation is taken from another contact only after an event on that contact's stream has made an
 * update under way for it fail. A reservation whose contact was never created (its creator died, or is
 * still at it) goes to who wants it next: a creator creates that contact under the reserved id, a
 * change into it first makes a creation under that id impossible. Whoever writes to the stream of
 * that id first has won; the creator that lost begins anew and finds the identity in use.
 */
import { randomUUID } from 'node:crypto';
import {
  type ContactCreateRequest,
  type ContactPatchRequest,
  contactPatchSchema,
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
} from '@pis/domain';
import {
  type CommandContext,
  type EventStore,
  type Loaded,
  repository,
  StoreUnavailable,
  StreamStates,
  againOnConflict,
  WrongExpectedRevision,
} from '@pis/event-store';
import { accepted, ApiError, notFound, now, type OwnWrites } from '@pis/http-api';
import { type Keyring, ownerOf } from '@pis/keyring';
import type { PartyAccounts } from './party-changes.js';

type Reservation = Loaded<ContactIdentityState>;
const conflict = () => new ApiError('CONFLICT', 'a contact with these details exists already');

export class ContactDirectory {
  private readonly contacts;
  private readonly identities;
  private readonly originators;

  constructor(
    private readonly store: EventStore,
    private readonly keyring: Keyring,
    private readonly accounts: PartyAccounts,
    private readonly ownWrites: OwnWrites,
    states: StreamStates = new StreamStates(),
  ) {
    this.contacts = repository(store, contacts, { states });
    this.identities = repository(store, identities, { states });
    this.originators = repository(store, originators, { states });
  }

  /** @throws ApiError NOT_FOUND (originator), CONFLICT; StoreUnavailable */
  async create(
    organizationId: string,
    request: ContactCreateRequest,
    context: CommandContext,
  ): Promise<Contact> {
    const fingerprint = this.accounts.fingerprintOf(request.bankAccount);
    const identity = this.identityOf(organizationId, request.originatorId, request, fingerprint);
    return againOnConflict(this.store, this.identities.streamIdOf(identity), async () => {
      // A new one each time: the former, if it was reserved, may be a rival's contact by now.
      const newId = randomUUID();
      const [{ state: originator }, reserved] = await Promise.all([
        this.originators.load(request.originatorId, organizationId),
        this.identities.load(identity, organizationId),
      ]);
      if (originator?.organizationId !== organizationId) throw notFound('originator');

      const { holder } = reserved.state;
      const abandoned =
        holder !== null &&
        (await this.contacts.load(holder, organizationId)).revision === 'noStream';
      const wanting = { organizationId, contactId: newId };
      if (!abandoned) await this.reserve(identity, reserved, wanting, context);
      const contactId = abandoned ? holder : newId;
      return this.append(contactId, { organizationId, identity, request }, context);
    });
  }

  /**
   * Applies a PATCH; one that changes nothing writes nothing.
   * @throws ApiError VALIDATION_ERROR, NOT_FOUND, CONFLICT; StoreUnavailable
   */
  async update(
    organizationId: string,
    contactId: string,
    body: unknown,
    context: CommandContext,
  ): Promise<Contact> {
    return againOnConflict(this.store, this.contacts.streamIdOf(contactId), async () => {
      const loaded = await this.contacts.load(contactId, organizationId);
      const current = loaded.state?.organizationId === organizationId ? loaded.state : null;
      const patch = accepted<ContactPatchRequest>(
        validatePatch(contactPatchSchema, body, current?.entityType ?? null),
      );
      if (current === null) throw notFound('contact');

      const changes = this.accounts.changes(current, ownerOf.contact(contactId), patch);
      const fingerprint = patch.bankAccount
        ? this.accounts.fingerprintOf(patch.bankAccount)
        : this.accounts.fingerprintAtRest(
            patch.bankAccount === null ? null : current.bankAccount,
            ownerOf.contact(contactId),
          );
      const profile = { ...current, ...changes };
      const identity = this.identityOf(organizationId, current.originatorId, profile, fingerprint);
      const command = { type: 'UpdateContact', at: now(), data: { changes, identity } } as const;
      const decision = contacts.decide(command, current);
      if (isRefusal(decision)) throw new Error(`a loaded contact refused: ${decision.refused}`);
      if (decision.length === 0) {
        // What was asked for may be what an earlier request did whose answer was lost.
        this.ownWrites.note('directory', organizationId, loaded.lastEvent?.position ?? null);
        return current;
      }

      const former = await this.moveTo(identity, current, context);
      const { state, position } = await this.contacts.append(contactId, loaded, decision, context);
      this.ownWrites.note('directory', organizationId, position);
      if (former) await this.release(current.identity, former, contactId, context);
      if (state === null) throw new Error('an updated contact is not there');
      return state;
    });
  }

  /** Reserves `identity` for a contact that changes into it; the result is its former reservation. */
  private async moveTo(
    identity: string,
    { contactId, organizationId, identity: formerIdentity }: Contact,
    context: CommandContext,
  ): Promise<Reservation | null> {
    if (identity === formerIdentity) return null;
    const [wanted, former] = await Promise.all([
      this.identities.load(identity, organizationId),
      this.identities.load(formerIdentity, organizationId),
    ]);
    await this.reserve(identity, wanted, { organizationId, contactId }, context);
    return former;
  }

  /**
   * @throws ApiError CONFLICT when another contact uses it or is about to; WrongExpectedRevision when
   *   someone else was faster
   */
  private async reserve(
    identity: string,
    reserved: Reservation,
    { organizationId, contactId }: Pick<Contact, 'organizationId' | 'contactId'>,
    context: CommandContext,
  ): Promise<void> {
    const { holder } = reserved.state;
    if (holder !== null && holder !== contactId)
      await this.forfeit(organizationId, holder, identity, context);
    const data = { contactId, insteadOf: holder === contactId ? null : holder };
    const command = { type: 'ReserveContactIdentity', at: now(), data } as const;
    const decision = identities.decide(command, reserved.state);
    if (isRefusal(decision)) throw conflict();
    await this.identities.append(identity, reserved, decision, context);
  }

  /**
   * Makes the holder give up an identity that it does not use, or its creation if that never ended.
   * @throws ApiError CONFLICT if it uses it; WrongExpectedRevision when it was created meanwhile
   */
  private async forfeit(
    organizationId: string,
    holder: string,
    identity: string,
    context: CommandContext,
  ): Promise<void> {
    const loaded = await this.contacts.load(holder, organizationId);
    const type = loaded.state === null ? 'ForfeitContactCreation' : 'ForfeitContactIdentity';
    const command = { type, at: now(), data: { identity } } as const;
    const decision = contacts.decide(command, loaded.state);
    if (isRefusal(decision)) {
      // Perhaps the caller's own, and the answer was lost: who looks it up in the list then finds it.
      const { state, lastEvent } = loaded;
      if (state !== null)
        this.ownWrites.note('directory', state.organizationId, lastEvent?.position ?? null);
      throw conflict();
    }
    await this.contacts.append(holder, loaded, decision, context);
  }

  /** @throws WrongExpectedRevision when the contact was created meanwhile */
  private async append(
    contactId: string,
    what: { organizationId: string; identity: string; request: ContactCreateRequest },
    context: CommandContext,
  ): Promise<Contact> {
    const { organizationId, identity, request } = what;
    const { bankAccount, ...fields } = request;
    const dataKey = this.accounts.createDataKey();
    const sealed =
      bankAccount && this.accounts.seal(dataKey, ownerOf.contact(contactId), bankAccount);
    const data = { contactId, organizationId, ...fields, bankAccount: sealed, dataKey, identity };
    const nothing = this.contacts.fold([]);
    const command = { type: 'CreateContact', at: now(), data } as const;
    const decision = contacts.decide(command, nothing.state);
    if (isRefusal(decision)) throw new Error(`a new contact was refused: ${decision.refused}`);
    const { state, position } = await this.contacts.append(contactId, nothing, decision, context);
    this.ownWrites.note('directory', organizationId, position);
    if (state === null) throw new Error('a created contact is not there');
    return state;
  }

  /**
   * Frees the identity the contact had. Only at the revision seen before the change: a later request
   * that changes the contact back has reserved it again. Not freeing it does no harm: whoever wants
   * it next makes this contact forfeit it.
   */
  private async release(
    identity: string,
    former: Reservation,
    contactId: string,
    context: CommandContext,
  ): Promise<void> {
    const command = { type: 'ReleaseContactIdentity', at: now(), data: { contactId } } as const;
    const decision = identities.decide(command, former.state);
    if (isRefusal(decision) || decision.length === 0) return;
    try {
      await this.identities.append(identity, former, decision, context);
    } catch (error) {
      const left = error instanceof WrongExpectedRevision || error instanceof StoreUnavailable;
      if (!left) throw error;
    }
  }

  /** Keyed, so that the store does not tell who is a contact of whom (rule party-input-15). */
  private identityOf(
    organizationId: string,
    originatorId: string,
    party: Pick<PartyProfile, 'entityType' | 'firstName' | 'lastName' | 'companyName' | 'email'>,
    fingerprint: string | null,
  ): string {
    const { entityType, firstName, lastName, companyName, email } = party;
    const name = entityType === 'INDIVIDUAL' ? [firstName, lastName] : [companyName];
    const key = [organizationId, originatorId, entityType, name, email.toLowerCase(), fingerprint];
    return this.keyring.mac('contact-identity', JSON.stringify(key).normalize('NFC'));
  }
}
