/**
 * Creating a payment. Idempotency is the stream itself: its id is derived from the organization and the
 * Idempotency-Key, and the first event is appended only if the stream does not exist. A second request
 * compares itself with that event: it is a replay or a conflict, whatever has happened to the referenced
 * records since. There is no table, no lock and no expiry. The payment's own stream is read only when the
 * append conflicts, or when the request would be refused otherwise.
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
  type Payment,
  payment as payments,
  type PaymentDetails,
  type PaymentState,
  type Refusal,
} from '@pis/domain';
import {
  type CommandContext,
  type EventStore,
  type Loaded,
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
    const parties = await this.referenced(organizationId, request);
    if ('refused' in parties) return this.unlessUsed(paymentId, organizationId, request, parties);
    const at = now();
    const nothing = this.payments.fold([]);
    try {
      const rail = await this.railOf(request, parties, at);
      const data = detailsOf({ paymentId, idempotencyKey: key, request, at }, parties, rail);
      const command = { type: 'QueuePayment', at, data } as const;
      const queued = await this.payments.record(paymentId, nothing, [command], context);
      // Everything that the domain refuses was checked above: a refusal is a fault of ours.
      if ('refused' in queued) throw new Error(`a valid payment was refused: ${queued.refused}`);
      const { state, revision, lastEvent } = queued;
      if (state !== null) noteCreated(this.store, { owner: 'payment', state, revision, lastEvent });
      this.ownWrites.note('payments', organizationId, queued.position);
      return { paymentId, replayed: false };
    } catch (error) {
      // Erased since it was read: nothing can be sealed for it any more.
      if (error instanceof KeyDestroyed)
        return this.unlessUsed(paymentId, organizationId, request, erasedRefusal(error, parties));
      if (!(error instanceof WrongExpectedRevision)) throw error;
    }
    return this.replay(organizationId, await this.payments.load(paymentId), request);
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
    // Every INBOUND payment is an ACH debit, whatever the bank is.
    const codes =
      direction === 'INBOUND' ? null : await openBankCodes(this.keyring, account, owner);
    const hasContactAddress = contact.legalAddress !== null;
    const transfer = { direction, amountMinor, at, codes, hasContactAddress };
    return this.railChoice.select(transfer, organization);
  }

  /** A used key takes precedence, whatever happened to the records since. */
  private async unlessUsed(
    paymentId: string,
    organizationId: string,
    request: PaymentCreateRequest,
    refusal: ReferenceRefusal,
  ): Promise<CreatedPayment | PaymentCreationRefusal> {
    const used = await this.payments.load(paymentId);
    return used.revision === 'noStream' ? refusal : this.replay(organizationId, used, request);
  }

  /** The next list must show the payment: the answer to the first request may have been lost. */
  private replay(
    organizationId: string,
    { state, lastEvent }: Loaded<PaymentState>,
    request: PaymentCreateRequest,
  ): CreatedPayment | IdempotencyKeyReused {
    this.ownWrites.note('payments', organizationId, lastEvent?.position ?? null);
    return replayOf(state, request);
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
  created: Pick<Drafted, 'paymentId' | 'idempotencyKey' | 'request' | 'at'>,
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

function replayOf(
  original: PaymentState,
  request: PaymentCreateRequest,
): CreatedPayment | IdempotencyKeyReused {
  if (original === null) throw new StoreUnavailable('the existing payment cannot be read yet');
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
function requestOf(payment: Payment): Readonly<Record<keyof PaymentCreateRequest, unknown>> {
  return {
    originatorId: payment.originatorId,
    contactId: payment.contactId,
    paymentAmount: payment.amountMinor,
    direction: payment.direction,
    paymentNote: payment.paymentNote,
    externalPaymentId: payment.externalPaymentId,
  };
}
