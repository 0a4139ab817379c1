/**
 * Creating a payment. Idempotency is the stream itself: its id is derived from the organization and
 * the Idempotency-Key, and the first event is appended only if the stream does not exist. Whoever
 * comes second compares its request with that event: a replay or a conflict, whatever has happened
 * to the referenced records since. No table, no lock, no expiry. So the payment's own stream is read
 * only when the append conflicts, or when the request would be refused otherwise.
 */
import { selectRail } from '@pis/bank-rails';
import {
  type PaymentCreateRequest,
  type Problem,
  problem,
  recognizedPaymentFields,
} from '@pis/contracts';
import {
  type Contact,
  contact as contacts,
  feesOf,
  isRefusal,
  organization as organizations,
  type OrganizationRecord,
  type Originator,
  originator as originators,
  type Payment,
  payment as payments,
  type PaymentDetails,
  type PaymentParty,
  type PaymentState,
} from '@pis/domain';
import {
  type CommandContext,
  type EventStore,
  type Loaded,
  repository,
  StoreUnavailable,
  StreamStates,
  WrongExpectedRevision,
} from '@pis/event-store';
import { ApiError, invalid, notFound, now } from '@pis/http-api';
import { paymentIdOf } from './idempotency-key.js';
import type { OwnWrites } from './own-writes.js';

export interface CreatedPayment {
  readonly paymentId: string;
  /** Whether an earlier request with the same key created it. */
  readonly replayed: boolean;
}

interface Referenced {
  readonly organization: OrganizationRecord;
  readonly originator: Originator;
  readonly contact: Contact;
}

export class PaymentCreation {
  private readonly payments;
  private readonly organizations;
  private readonly originators;
  private readonly contacts;

  constructor(
    store: EventStore,
    private readonly ownWrites: OwnWrites,
    states: StreamStates = new StreamStates(),
  ) {
    this.payments = repository(store, payments);
    this.organizations = repository(store, organizations, { states });
    this.originators = repository(store, originators, { states });
    this.contacts = repository(store, contacts, { states });
  }

  /** @throws ApiError as the specification lists them; StoreUnavailable */
  async create(
    organizationId: string,
    key: string,
    request: PaymentCreateRequest,
    context: CommandContext,
  ): Promise<CreatedPayment> {
    const paymentId = paymentIdOf(organizationId, key);
    const nothing = this.payments.fold([]);
    const parties = await this.referenced(organizationId, request).catch(async (error: unknown) => {
      if (!(error instanceof ApiError)) throw error;
      // A used key is answered first, whatever has become of the records since.
      const used = await this.payments.load(paymentId);
      if (used.revision === 'noStream') throw error;
      return used;
    });
    if ('revision' in parties) return this.replay(organizationId, parties, request);
    const data = this.detailsOf(paymentId, key, request, parties);
    const decision = payments.decide({ type: 'QueuePayment', at: now(), data }, nothing.state);
    // Everything it refuses has been checked above: what is left is a fault of ours.
    if (isRefusal(decision)) throw new Error(`a valid payment was refused: ${decision.refused}`);
    try {
      const { position } = await this.payments.append(paymentId, nothing, decision, context);
      this.ownWrites.note('payments', organizationId, position);
      return { paymentId, replayed: false };
    } catch (error) {
      if (!(error instanceof WrongExpectedRevision)) throw error;
    }
    return this.replay(organizationId, await this.payments.load(paymentId), request);
  }

  /** Lists show it like a payment made just now: the answer to the request that made it may have been lost. */
  private replay(
    organizationId: string,
    { state, lastEvent }: Loaded<PaymentState>,
    request: PaymentCreateRequest,
  ): CreatedPayment {
    this.ownWrites.note('payments', organizationId, lastEvent?.position ?? null);
    return replayOf(state, request);
  }

  /**
   * Three reads side by side, each of what its stream has gained since the last one.
   * @throws ApiError NOT_FOUND, VALIDATION_ERROR; StoreUnavailable
   */
  private async referenced(
    organizationId: string,
    request: PaymentCreateRequest,
  ): Promise<Referenced> {
    const [{ state: organization }, { state: originator }, { state: contact }] = await Promise.all([
      this.organizations.load(organizationId),
      this.originators.load(request.originatorId, organizationId),
      this.contacts.load(request.contactId, organizationId),
    ]);
    if (organization === null) throw new Error(`organization ${organizationId} has no stream`);
    if (originator?.organizationId !== organizationId) throw notFound('originator');
    if (contact?.organizationId !== organizationId) throw notFound('contact');

    const problems: Problem[] = [];
    if (contact.originatorId !== request.originatorId)
      problems.push(problem('contactId', 'validation_contact_originator_mismatch'));
    if (contact.bankAccount === null)
      problems.push(problem('contactId', 'validation_contact_bank_account_required'));
    if (problems.length > 0) throw invalid(problems);
    return { organization, originator, contact };
  }

  private detailsOf(
    paymentId: string,
    idempotencyKey: string,
    request: PaymentCreateRequest,
    { organization, originator, contact }: Referenced,
  ): PaymentDetails {
    const { direction, paymentAmount: amountMinor } = request;
    return {
      paymentId,
      organizationId: organization.organizationId,
      originatorId: originator.originatorId,
      contactId: contact.contactId,
      amountMinor,
      ...feesOf(organization.feeSchedule, amountMinor),
      currencyCode: 'USD',
      paymentRail: selectRail({
        direction,
        amountMinor,
        at: now(),
      }),
      direction,
      paymentNote: request.paymentNote,
      externalPaymentId: request.externalPaymentId,
      idempotencyKey,
      originator: partyOf(originator.originatorId, originator),
      contact: partyOf(contact.contactId, contact),
    };
  }
}

/** The party as it is now, for ever: later changes of the record do not touch the payment. */
function partyOf(id: string, party: Originator | Contact): PaymentParty {
  const { entityType, firstName, lastName, companyName, bankAccount } = party;
  return { id, entityType, firstName, lastName, companyName, bankAccount };
}

/**
 * @throws ApiError IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_BODY. Its message names the payment and each field
 *   that differs, never a value: the spec keeps `error.details` for validation errors.
 */
function replayOf(original: PaymentState, request: PaymentCreateRequest): CreatedPayment {
  if (original === null)
    throw new StoreUnavailable('the payment that was there before cannot be read');
  const first = requestOf(original);
  const differing = recognizedPaymentFields.filter((field) => first[field] !== request[field]);
  if (differing.length === 0) return { paymentId: original.paymentId, replayed: true };
  throw new ApiError(
    'IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_BODY',
    `this Idempotency-Key created payment ${original.paymentId} from a request that differs in: ${differing.join(', ')}`,
  );
}

/** The recognized fields as they were sent. */
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
