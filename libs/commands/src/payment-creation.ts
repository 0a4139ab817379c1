/**
 * Creating a payment. Idempotency is the stream itself: its id is derived from the organization and the
 * Idempotency-Key, and the first event is appended only if the stream does not exist. A second request
 * compares itself with that event: it is a replay or a conflict, whatever has happened to the referenced
 * records since. There is no table, no lock and no expiry. The payment's own stream is read only when the
 * append conflicts, or when the request would be refused or fail otherwise. What is compared is stored in the
 * clear, so a request can be repeated while nobody's personal data can be read.
 */
import type { RailSelection } from '@pis/bank-rails';
import {
  type PaymentCreateRequest,
  type Problem,
  problem,
  recognizedPaymentFields,
} from '@pis/contracts';
import {
  type BankAccount,
  type Contact,
  contact as contacts,
  type Organization,
  organization as organizations,
  type Originator,
  originator as originators,
  payment as payments,
  type PaymentDetails,
  type PaymentEvent,
  type Refusal,
  streamIdOf,
} from '@pis/domain';
import {
  type CommandContext,
  domainEventOf,
  type EventStore,
  type RecordedEvent,
  repository,
  StoreUnavailable,
  WrongExpectedRevision,
} from '@pis/event-store';
import { KeyDestroyed, type Keyring, openBankCodes, ownerOf } from '@pis/keyring';
import { v5 as uuidV5 } from 'uuid';
import { type Drafted, draftOf, type OfferedRails, partyOf, RailChoice } from './payment-draft.js';
import { noteCreated } from './recent-transfers.js';
import {
  type BankUseCaseOptions,
  type InvalidRequest,
  invalidRequest,
  isUsable,
  now,
  type OwnWrites,
  unlessErased,
} from './use-case.js';

export interface CreatedPayment {
  readonly paymentId: string;
  /** Whether an earlier request with the same key created it. */
  readonly replayed: boolean;
}

interface NewPayment extends Pick<Drafted, 'paymentId' | 'idempotencyKey' | 'at'> {
  readonly request: PaymentCreateRequest;
}

/** Another request with this Idempotency-Key created a payment. Only names of fields, never a value. */
export interface IdempotencyKeyReused extends Refusal<'IDEMPOTENCY_KEY_REUSED'> {
  readonly paymentId: string;
  readonly differingFields: readonly string[];
}

type ReferenceRefusal = Refusal<'ORIGINATOR_NOT_FOUND' | 'CONTACT_NOT_FOUND'> | InvalidRequest;
export type PaymentCreationRefusal = ReferenceRefusal | IdempotencyKeyReused;

interface Referenced {
  readonly organization: Organization;
  readonly originator: Originator;
  readonly contact: Contact;
  readonly account: BankAccount;
}

export interface PaymentCreationOptions extends BankUseCaseOptions {
  readonly rails: OfferedRails;
}

/** The ID of the payment that this Idempotency-Key created or will create. Each organization has its own keys. */
export function paymentIdOf(organizationId: string, idempotencyKey: string): string {
  return uuidV5(idempotencyKey, organizationId);
}

export class PaymentCreation {
  private readonly store: EventStore;
  private readonly payments;
  private readonly organizations;
  private readonly originators;
  private readonly contacts;
  private readonly keyring: Keyring;
  private readonly railChoice: RailChoice;
  private readonly ownWrites: OwnWrites;

  constructor(options: PaymentCreationOptions) {
    const { store, states, keyring, ownWrites } = options;
    this.store = store;
    this.keyring = keyring;
    this.railChoice = new RailChoice(options);
    this.payments = repository(store, payments);
    this.organizations = repository(store, organizations, { states });
    this.originators = repository(store, originators, { states });
    this.contacts = repository(store, contacts, { states });
    this.ownWrites = ownWrites;
  }

  /** @throws StoreUnavailable */
  async create(
    organizationId: string,
    key: string,
    request: PaymentCreateRequest,
    context: CommandContext,
  ): Promise<CreatedPayment | PaymentCreationRefusal> {
    const paymentId = paymentIdOf(organizationId, key);
    const at = now();
    let refused: ReferenceRefusal;
    try {
      const drafted = { paymentId, idempotencyKey: key, request, at };
      const created = await this.createNew(organizationId, drafted, context);
      if (!('refused' in created)) return created;
      refused = created;
    } catch (error) {
      const used = await this.firstEventOf(paymentId).catch(() => null);
      const isConflict = error instanceof WrongExpectedRevision;
      // An event with this time may be of this request itself, whose append got no answer.
      if (used !== null && (isConflict || used.metadata.at !== at))
        return this.replay(organizationId, used, request);
      if (isConflict)
        throw new StoreUnavailable('the existing payment cannot be read yet', { cause: error });
      throw error;
    }
    const used = await this.firstEventOf(paymentId);
    return used === null ? refused : this.replay(organizationId, used, request);
  }

  /** @throws WrongExpectedRevision when the key was used */
  private async createNew(
    organizationId: string,
    drafted: NewPayment,
    context: CommandContext,
  ): Promise<CreatedPayment | ReferenceRefusal> {
    const parties = await this.referenced(organizationId, drafted.request);
    if ('refused' in parties) return parties;
    try {
      return await this.record(drafted, parties, context);
    } catch (error) {
      // Erased since it was read: nothing can be sealed for it any more.
      if (error instanceof KeyDestroyed) return erasedRefusal(error, parties);
      throw error;
    }
  }

  private async record(
    drafted: NewPayment,
    parties: Referenced,
    context: CommandContext,
  ): Promise<CreatedPayment> {
    const { organizationId } = parties.organization;
    const { paymentId, request, at } = drafted;
    const rail = await this.railOf(request, parties, at);
    const data = detailsOf(drafted, parties, rail);
    const command = { type: 'QueuePayment', at, data } as const;
    const nothing = this.payments.fold([]);
    const queued = await this.payments.record(paymentId, nothing, [command], context);
    // Everything that the domain refuses was checked above: a refusal is a fault of ours.
    if ('refused' in queued) throw new Error(`a valid payment was refused: ${queued.refused}`);
    const { state, revision, lastEvent } = queued;
    if (state !== null) noteCreated(this.store, { owner: 'payment', state, revision, lastEvent });
    this.ownWrites.note('payments', organizationId, queued.position);
    return { paymentId, replayed: false };
  }

  /** The rail that the payment would take now. Records nothing. @throws StoreUnavailable */
  async evaluateRails(
    organizationId: string,
    request: PaymentCreateRequest,
  ): Promise<RailSelection | ReferenceRefusal> {
    const parties = await this.referenced(organizationId, request);
    if ('refused' in parties) return parties;
    return unlessErased(this.railOf(request, parties, now()), (owner) =>
      erasedRefusal({ owner }, parties),
    );
  }

  /** @throws KeyDestroyed */
  private async railOf(
    { direction, paymentAmount: amountMinor }: PaymentCreateRequest,
    { organization, contact, account }: Referenced,
    at: string,
  ): Promise<RailSelection> {
    const owner = ownerOf.contact(contact.contactId);
    // Every INBOUND payment is an ACH debit, whatever the bank is. Only of an account abroad there is none.
    const isAnyBank = direction === 'INBOUND' && account.swiftCode === null;
    const codes = isAnyBank ? null : await openBankCodes(this.keyring, account, owner);
    const hasContactAddress = contact.legalAddress !== null;
    const transfer = { direction, amountMinor, at, codes, hasContactAddress };
    return this.railChoice.select(transfer, organization);
  }

  /** Null while the key is free. A used one takes precedence, whatever happened to the records since. */
  private async firstEventOf(paymentId: string): Promise<RecordedEvent | null> {
    const first = { from: 0, maxCount: 1, leaveSealed: true };
    const [event = null] = await this.store.readStream(streamIdOf('payment', paymentId), first);
    return event;
  }

  /** The next list must show the payment: the answer to the first request may have been lost. */
  private replay(
    organizationId: string,
    first: RecordedEvent,
    request: PaymentCreateRequest,
  ): CreatedPayment | IdempotencyKeyReused {
    this.ownWrites.note('payments', organizationId, first.position);
    return replayOf(detailsIn(first), request);
  }

  /**
   * Three concurrent reads, each only of the new events of its stream.
   * @throws StoreUnavailable
   */
  private async referenced(
    organizationId: string,
    request: PaymentCreateRequest,
  ): Promise<Referenced | ReferenceRefusal> {
    const [{ state: organization }, { state: originator }, { state: contact }] = await Promise.all([
      this.organizations.load(organizationId),
      this.originators.load(request.originatorId, organizationId),
      this.contacts.load(request.contactId, organizationId),
    ]);
    if (organization === null) throw new Error(`organization ${organizationId} has no stream`);
    if (!isUsable(originator, organizationId)) return { refused: 'ORIGINATOR_NOT_FOUND' };
    if (!isUsable(contact, organizationId)) return { refused: 'CONTACT_NOT_FOUND' };

    const problems: Problem[] = [];
    if (contact.originatorId !== request.originatorId)
      problems.push(problem('contactId', 'validation_contact_originator_mismatch'));
    const account = contact.bankAccount;
    if (account === null)
      problems.push(problem('contactId', 'validation_contact_bank_account_required'));
    return problems.length > 0 || account === null
      ? invalidRequest(problems)
      : { organization, originator, contact, account };
  }
}

function detailsOf(
  created: NewPayment,
  { organization, originator, contact }: Referenced,
  { paymentRail, decision }: RailSelection,
): PaymentDetails {
  return {
    ...draftOf({ ...created, organization, originator, paymentRail }),
    contactId: contact.contactId,
    railDecision: decision,
    contact: partyOf(contact.contactId, contact),
  };
}

function erasedRefusal(
  { owner }: Pick<KeyDestroyed, 'owner'>,
  { originator }: Referenced,
): ReferenceRefusal {
  const isOriginator = owner === ownerOf.originator(originator.originatorId);
  return { refused: isOriginator ? 'ORIGINATOR_NOT_FOUND' : 'CONTACT_NOT_FOUND' };
}

/** Only what is stored in the clear is used of it. @throws UnreadableEvent */
function detailsIn({ unopened: _sealed, ...first }: RecordedEvent): PaymentDetails {
  const { type, data } = domainEventOf<PaymentEvent>(payments, first);
  if (type !== 'PaymentQueued' && type !== 'PaymentAwaitingConfirmation')
    throw new Error(`the first event of a payment cannot be ${type}`);
  return data;
}

function replayOf(
  original: PaymentDetails,
  request: PaymentCreateRequest,
): CreatedPayment | IdempotencyKeyReused {
  const { paymentId } = original;
  const first = requestOf(original);
  const differingFields = recognizedPaymentFields.filter(
    (field) => first[field] !== request[field],
  );
  return differingFields.length === 0
    ? { paymentId, replayed: true }
    : { refused: 'IDEMPOTENCY_KEY_REUSED', paymentId, differingFields };
}

/** The recognized fields of the original request. */
function requestOf(payment: PaymentDetails): Readonly<Record<keyof PaymentCreateRequest, unknown>> {
  return {
    originatorId: payment.originatorId,
    contactId: payment.contactId,
    paymentAmount: payment.amountMinor,
    direction: payment.direction,
    paymentNote: payment.paymentNote,
    externalPaymentId: payment.externalPaymentId,
  };
}
