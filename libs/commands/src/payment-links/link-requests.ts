/**
 * A payment that is requested in the dashboard: QUEUED at once, or AWAITING_CONFIRMATION with a link. As with
 * the API, idempotency is the stream itself, under IDs that no Idempotency-Key of the API leads to.
 */
import { randomUUID } from 'node:crypto';
import { type DashboardPaymentRequest, problem } from '@pis/contracts';
import {
  type AccountHolder,
  type Contact,
  contact as contacts,
  feesOf,
  linkExpiryOf,
  needsApproval,
  type Organization,
  organization as organizations,
  type Originator,
  originator as originators,
  type Payment,
  payment as payments,
  type PaymentCommand,
  type PaymentParty,
  type PaymentRail,
  type PaymentState,
  type Refusal,
} from '@pis/domain';
import {
  type CommandContext,
  type Loaded,
  type Position,
  repository,
  StoreUnavailable,
  WrongExpectedRevision,
} from '@pis/event-store';
import { KeyDestroyed, type Keyring, openBankCodes, ownerOf } from '@pis/keyring';
import { v5 as uuidV5 } from 'uuid';
import type { IdempotencyKeyReused, PaymentCreationOptions } from '../payment-creation.js';
import { draftOf, partyOf, RailChoice } from '../payment-draft.js';
import { type InvalidRequest, invalidRequest, isUsable, unlessErased } from '../use-case.js';
import {
  accountOf,
  type ApprovedRequest,
  type ContactWithAccount,
  directlyPaid,
  isSameRecipient,
  recipientOf,
} from './approved-recipient.js';
import { holderNameProblem } from './holder-name.js';
import type { LinkTable } from './link-ports.js';
import { digestOf, newToken, tokenPlace } from './link-token.js';

export interface LinkRequestsOptions extends PaymentCreationOptions {
  readonly table: LinkTable;
}

export interface Requester {
  /** The dashboard's user; null when no user asks. */
  readonly userId: string | null;
  /** Chosen by the caller, for each organization: the same key leads to the same payment. */
  readonly idempotencyKey: string;
}

export type ReferenceRefusal =
  | Refusal<'ORIGINATOR_NOT_FOUND' | 'CONTACT_NOT_FOUND'>
  | InvalidRequest;
export type LinkRequestRefusal = ReferenceRefusal | IdempotencyKeyReused;
/** `APPROVAL_NEEDED`: a second person must approve the payment first. */
export type UnapprovedRequestRefusal = LinkRequestRefusal | Refusal<'APPROVAL_NEEDED'>;
/** The name or the account of the recipient, or the account of the originator, is not what was approved. */
export type ApprovedRequestRefusal =
  | LinkRequestRefusal
  | Refusal<'RECIPIENT_CHANGED' | 'ORIGINATOR_CHANGED'>;

export interface Created {
  readonly payment: Payment;
  readonly replayed: boolean;
  readonly position: Position | null;
}

/** A request that would be accepted now. */
export interface CheckedRequest {
  readonly recipient: PaymentParty;
  /** See ApprovalRequest. */
  readonly originatorAccount: string;
}

export interface Referenced {
  readonly organization: Organization;
  readonly originator: Originator;
  /** Null when the recipient is no saved contact. */
  readonly contact: Contact | null;
}

const aboveLimits =
  'is more than any rail of the organization can move; a payer also pays the processing fee';

/** The rail is not known before the counterparty's bank is. Until then this one is shown, and sets the fees. */
const shownRail: PaymentRail = 'ACH';
/** A namespace of its own within the organization's. */
const namespace = 'dashboard';

/** Each organization has its own keys, and none is an Idempotency-Key of the API. */
export function requestedPaymentId(organizationId: string, idempotencyKey: string): string {
  return uuidV5(idempotencyKey, uuidV5(namespace, organizationId));
}

/** A payment as it is about to be created. */
interface Asked {
  readonly paymentId: string;
  readonly request: DashboardPaymentRequest;
  readonly at: string;
  /** The dashboard's user; null when no user asks. */
  readonly createdBy: string | null;
  /** Null for a payment that needed no second person. */
  readonly approved: ApprovedRequest | null;
}

export class LinkRequests {
  private readonly keyring: Keyring;
  private readonly table: LinkTable;
  private readonly railChoice: RailChoice;
  private readonly payments;
  private readonly organizations;
  private readonly originators;
  private readonly contacts;

  constructor(options: LinkRequestsOptions) {
    const { store, states, keyring, table } = options;
    this.keyring = keyring;
    this.table = table;
    this.railChoice = new RailChoice(options);
    this.payments = repository(store, payments);
    this.organizations = repository(store, organizations, { states });
    this.originators = repository(store, originators, { states });
    this.contacts = repository(store, contacts, { states });
  }

  /** @param at when it was requested, ISO 8601 @throws StoreUnavailable */
  async create(
    organizationId: string,
    request: DashboardPaymentRequest,
    { userId, idempotencyKey }: Requester,
    context: CommandContext,
    at: string,
  ): Promise<Created | UnapprovedRequestRefusal> {
    const paymentId = requestedPaymentId(organizationId, idempotencyKey);
    const used = await this.payments.load(paymentId);
    if (used.state !== null) return replayOf(used, request);
    const parties = await this.accepted(organizationId, request, at);
    if ('refused' in parties) return parties;
    const asked = { paymentId, request, at, createdBy: userId, approved: null };
    return this.record(asked, used, parties, context);
  }

  /**
   * Creates the payment that was approved, once, however often it is called.
   * @throws StoreUnavailable
   */
  async createApproved(
    organizationId: string,
    request: DashboardPaymentRequest,
    approved: ApprovedRequest,
    context: CommandContext,
    at: string,
  ): Promise<Created | ApprovedRequestRefusal> {
    const { paymentId, approval } = approved;
    const used = await this.payments.load(paymentId);
    // Whatever became of it since: no other request makes a payment with an approval under this ID.
    if (used.state?.approval !== undefined) return replayed(used);
    if (used.state !== null) return replayOf(used, request);
    const parties = await this.accepted(organizationId, request, at);
    if ('refused' in parties) return parties;
    const refused = await unlessErased(
      this.otherThanApproved(request, parties, approved),
      (owner) => erasedRefusal({ owner }, parties),
    );
    if (refused !== null) return refused;
    const asked = { paymentId, request, at, createdBy: approval.requestedBy, approved };
    const created = await this.record(asked, used, parties, context);
    if ('refused' in created && created.refused === 'APPROVAL_NEEDED')
      throw new Error(`payment ${paymentId} was approved`);
    return created;
  }

  /** Null when the parties are still those that were approved. @throws KeyDestroyed */
  private async otherThanApproved(
    request: DashboardPaymentRequest,
    { contact, originator }: Referenced,
    { recipient, originatorAccount }: ApprovedRequest,
  ): Promise<Refusal<'CONTACT_NOT_FOUND' | 'RECIPIENT_CHANGED' | 'ORIGINATOR_CHANGED'> | null> {
    // An earlier release noted none.
    const account = originatorAccount && (await accountOf(this.keyring, originator));
    if (account !== originatorAccount) return { refused: 'ORIGINATOR_CHANGED' };
    if (contact === null) {
      // An unsaved recipient has a stream only once it is being erased.
      const { state } = await this.contacts.load(recipient.id);
      return state === null ? null : { refused: 'CONTACT_NOT_FOUND' };
    }
    const now = recipientOf(request, contact);
    const isSame = await isSameRecipient(this.keyring, recipient, now);
    return isSame ? null : { refused: 'RECIPIENT_CHANGED' };
  }

  private async record(
    asked: Asked,
    nothing: Loaded<PaymentState>,
    parties: Referenced,
    context: CommandContext,
  ): Promise<Created | UnapprovedRequestRefusal> {
    const { paymentId, request } = asked;
    try {
      const contact = directlyPaid(request, parties.contact);
      const command =
        contact === null
          ? await this.byLink(asked, parties)
          : await this.directly(asked, { ...parties, contact });
      if (await this.lacksApproval(asked, parties)) return { refused: 'APPROVAL_NEEDED' };
      const recorded = await this.payments.record(paymentId, nothing, [command], context);
      // Everything that the domain refuses was checked above: a refusal is a fault of ours.
      if ('refused' in recorded)
        throw new Error(`a valid payment was refused: ${recorded.refused}`);
      if (recorded.state === null) throw new Error('a created payment is missing');
      return { payment: recorded.state, replayed: false, position: recorded.position };
    } catch (error) {
      // Erased since it was read: nothing can be sealed for it any more.
      if (error instanceof KeyDestroyed) return erasedRefusal(error, parties);
      if (!(error instanceof WrongExpectedRevision)) throw error;
    }
    const loaded = await this.payments.load(paymentId);
    return loaded.state?.approval === undefined ? replayOf(loaded, request) : replayed(loaded);
  }

  /**
   * Whether a second person must approve it first. Asked directly before the append, because the setting may have
   * changed since the request came.
   */
  private async lacksApproval(
    { request, createdBy, approved }: Asked,
    { organization: { organizationId } }: Referenced,
  ): Promise<boolean> {
    // Without a user there is no second one: the payments of the demo.
    if (approved !== null || createdBy === null) return false;
    const { state } = await this.organizations.load(organizationId);
    return state !== null && needsApproval(state, request.paymentAmount);
  }

  /** What an approval of a request must hold. Records nothing. @throws StoreUnavailable */
  async check(
    organizationId: string,
    request: DashboardPaymentRequest,
    at: string,
  ): Promise<CheckedRequest | ReferenceRefusal> {
    const parties = await this.accepted(organizationId, request, at);
    if ('refused' in parties) return parties;
    return unlessErased(this.checked(request, parties), (owner) =>
      erasedRefusal({ owner }, parties),
    );
  }

  private async checked(
    request: DashboardPaymentRequest,
    { contact, originator }: Referenced,
  ): Promise<CheckedRequest> {
    const originatorAccount = await accountOf(this.keyring, originator);
    return { recipient: recipientOf(request, contact), originatorAccount };
  }

  /** All checks of a creation. Records nothing. @throws StoreUnavailable */
  private async accepted(
    organizationId: string,
    request: DashboardPaymentRequest,
    at: string,
  ): Promise<Referenced | ReferenceRefusal> {
    const parties = await this.referenced(organizationId, request);
    if ('refused' in parties || directlyPaid(request, parties.contact) !== null) return parties;
    const { organization } = parties;
    const unsendable = holderNameProblem(request, parties.contact ?? newRecipient(request));
    if (unsendable !== null) return invalidRequest([unsendable]);
    const { direction } = request;
    const amountMinor = linkedAmountMinor(request, organization, at);
    return this.railChoice.isAboveLimits({ direction, amountMinor, at }, organization)
      ? invalidRequest([problem('paymentAmount', 'validation_max', aboveLimits)])
      : parties;
  }

  /** The contact has an active account: nobody needs to be asked. */
  private async directly(
    { paymentId, request, at, approved }: Asked,
    { organization, originator, contact }: Referenced & { readonly contact: ContactWithAccount },
  ): Promise<PaymentCommand> {
    const { contactId } = contact;
    const owner = ownerOf.contact(contactId);
    const codes = await openBankCodes(this.keyring, contact.bankAccount, owner);
    const { direction, paymentAmount: amountMinor } = request;
    const hasContactAddress = contact.legalAddress !== null;
    const transfer = { direction, amountMinor, at, codes, hasContactAddress };
    const { paymentRail, decision } = await this.railChoice.select(transfer, organization);
    const created = { paymentId, idempotencyKey: null, request, at };
    const data = {
      ...draftOf({ ...created, organization, originator, paymentRail }),
      ...approvalOf(approved),
      contactId,
      contact: partyOf(contactId, contact),
      railDecision: decision,
    };
    return { type: 'QueuePayment', at, data };
  }

  private async byLink(
    { paymentId, request, at, createdBy, approved }: Asked,
    { organization, originator, contact }: Referenced,
  ): Promise<PaymentCommand> {
    const { originatorId } = originator;
    const { organizationId } = organization;
    const contactId = contact?.contactId ?? null;
    const counterpartyId = contactId ?? approved?.recipient.id ?? randomUUID();
    const token = newToken();
    const tokenDigest = digestOf(token);
    const owner = ownerOf.originator(originatorId);
    const sealedToken = await this.keyring.seal(owner, token, tokenPlace(paymentId));
    const expiresAt = linkExpiryOf(at);
    const unsavedId = contact === null ? counterpartyId : null;
    const row = { tokenDigest, paymentId, organizationId, expiresAt, counterpartyId: unsavedId };
    await this.table.add(row);
    const holder = holderOf(contact ?? newRecipient(request));
    const created = { paymentId, idempotencyKey: null, request, at, paymentRail: shownRail };
    const data = {
      ...draftOf({ ...created, organization, originator }),
      ...approvalOf(approved),
      contactId,
      contact: contact && partyOf(contact.contactId, contact),
      link: { tokenDigest, sealedToken, holder, counterpartyId, createdBy },
    } as const;
    return { type: 'AwaitConfirmation', at, data };
  }

  private async referenced(
    organizationId: string,
    { originatorId, recipient }: DashboardPaymentRequest,
  ): Promise<Referenced | ReferenceRefusal> {
    const contactId = 'contactId' in recipient ? recipient.contactId : null;
    const [{ state: organization }, { state: originator }, { state: contact }] = await Promise.all([
      this.organizations.load(organizationId),
      this.originators.load(originatorId, organizationId),
      contactId === null ? { state: null } : this.contacts.load(contactId, organizationId),
    ]);
    if (organization === null) throw new Error(`organization ${organizationId} has no stream`);
    if (!isUsable(originator, organizationId)) return { refused: 'ORIGINATOR_NOT_FOUND' };
    if (contactId === null) return { organization, originator, contact: null };
    if (!isUsable(contact, organizationId)) return { refused: 'CONTACT_NOT_FOUND' };
    return contact.originatorId === originatorId
      ? { organization, originator, contact }
      : invalidRequest([problem('recipient.contactId', 'validation_contact_originator_mismatch')]);
  }
}

function approvalOf(approved: ApprovedRequest | null): Pick<Payment, 'approval'> {
  return approved === null ? {} : { approval: approved.approval };
}

/** What the transfer of a payment with a link will move: the payer of a request pays the fee on top. */
function linkedAmountMinor(
  { originatorId, direction, paymentAmount }: DashboardPaymentRequest,
  organization: Organization,
  at: string,
): number {
  const priced = { originatorId, rail: shownRail, direction, amountMinor: paymentAmount, at };
  const { discountFeeMinor, flatFeeMinor } = feesOf(organization, priced);
  return direction === 'INBOUND' ? paymentAmount + discountFeeMinor + flatFeeMinor : paymentAmount;
}

function newRecipient({ recipient }: DashboardPaymentRequest): AccountHolder {
  if ('contactId' in recipient) throw new Error('a saved recipient is a contact');
  return recipient;
}

function holderOf({ entityType, firstName, lastName, companyName }: AccountHolder): AccountHolder {
  return { entityType, firstName, lastName, companyName };
}

function erasedRefusal(
  { owner }: Pick<KeyDestroyed, 'owner'>,
  { originator }: Referenced,
): ReferenceRefusal {
  const isOriginator = owner === ownerOf.originator(originator.originatorId);
  return { refused: isOriginator ? 'ORIGINATOR_NOT_FOUND' : 'CONTACT_NOT_FOUND' };
}

function replayOf(
  loaded: Loaded<PaymentState>,
  request: DashboardPaymentRequest,
): Created | IdempotencyKeyReused {
  const created = replayed(loaded);
  const { paymentId } = created.payment;
  const differingFields = differingFieldsOf(fieldsOf(created.payment), request);
  return differingFields.length === 0
    ? created
    : { refused: 'IDEMPOTENCY_KEY_REUSED', paymentId, differingFields };
}

function replayed({ state, lastEvent }: Loaded<PaymentState>): Created {
  if (state === null) throw new StoreUnavailable('the existing payment cannot be read yet');
  return { payment: state, replayed: true, position: lastEvent?.position ?? null };
}

/** The fields of a request, with the recipient as text, so that they can be compared. */
export type RequestFields = Readonly<Record<keyof DashboardPaymentRequest, unknown>>;

/** Names alone, never a value. */
export function differingFieldsOf(
  first: RequestFields,
  request: DashboardPaymentRequest,
): readonly string[] {
  const now = { ...request, recipient: recipientText(request.recipient) };
  return (Object.keys(first) as (keyof RequestFields)[]).filter(
    (field) => first[field] !== now[field],
  );
}

/** The fields of the original request. */
function fieldsOf(payment: Payment): RequestFields {
  const { contactId, link } = payment;
  const recipient = contactId === null ? (link?.holder ?? null) : { contactId };
  return {
    originatorId: payment.originatorId,
    recipient: recipient && recipientText(recipient),
    paymentAmount: payment.amountMinor,
    direction: payment.direction,
    paymentNote: payment.paymentNote,
    externalPaymentId: payment.externalPaymentId,
  };
}

export function recipientText(recipient: DashboardPaymentRequest['recipient']): string {
  return JSON.stringify('contactId' in recipient ? recipient.contactId : holderOf(recipient));
}
