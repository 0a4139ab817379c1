/**
 * A payment that is requested in the dashboard: QUEUED at once, or AWAITING_CONFIRMATION with a link. As with
 * the API, idempotency is the stream itself, under IDs that no Idempotency-Key of the API leads to.
 */
import { randomUUID } from 'node:crypto';
import { type DashboardPaymentRequest, type Problem, problem } from '@pis/contracts';
import {
  type AccountHolder,
  type Contact,
  contact as contacts,
  hasActiveAccount,
  linkExpiryOf,
  type Organization,
  organization as organizations,
  type Originator,
  originator as originators,
  type Payment,
  payment as payments,
  type PaymentCommand,
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
import { type InvalidRequest, invalidRequest, isUsable } from '../use-case.js';
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

type ReferenceRefusal = Refusal<'ORIGINATOR_NOT_FOUND' | 'CONTACT_NOT_FOUND'> | InvalidRequest;
export type LinkRequestRefusal = ReferenceRefusal | IdempotencyKeyReused;

interface Created {
  readonly payment: Payment;
  readonly replayed: boolean;
  readonly position: Position | null;
}

interface Referenced {
  readonly organization: Organization;
  readonly originator: Originator;
  /** Null when the recipient is no saved contact. */
  readonly contact: Contact | null;
}

/** A namespace of its own within the organization's. */
const namespace = 'dashboard';

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
  ): Promise<Created | LinkRequestRefusal> {
    const paymentId = uuidV5(idempotencyKey, uuidV5(namespace, organizationId));
    const used = await this.payments.load(paymentId);
    if (used.state !== null) return replayOf(used, request);
    const parties = await this.referenced(organizationId, request);
    if ('refused' in parties) return parties;
    try {
      const command =
        request.direction === 'OUTBOUND' && hasAccount(parties.contact)
          ? await this.directly(paymentId, request, { ...parties, contact: parties.contact }, at)
          : await this.byLink(paymentId, request, parties, userId, at);
      const recorded = await this.payments.record(paymentId, used, [command], context);
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
    return replayOf(await this.payments.load(paymentId), request);
  }

  /** The contact has an active account: nobody needs to be asked. */
  private async directly(
    paymentId: string,
    request: DashboardPaymentRequest,
    { organization, originator, contact }: Referenced & { readonly contact: ContactWithAccount },
    at: string,
  ): Promise<PaymentCommand> {
    const { contactId } = contact;
    const owner = ownerOf.contact(contactId);
    const codes = await openBankCodes(this.keyring, contact.bankAccount, owner);
    const { direction, paymentAmount: amountMinor } = request;
    const hasContactAddress = contact.legalAddress !== null;
    const transfer = { direction, amountMinor, at, codes, hasContactAddress };
    const { paymentRail, decision } = await this.railChoice.select(transfer, organization);
    const data = {
      ...draftOf({ paymentId, idempotencyKey: null, request, organization, originator }),
      contactId,
      contact: partyOf(contactId, contact),
      paymentRail,
      railDecision: decision,
    };
    return { type: 'QueuePayment', at, data };
  }

  /** The rail is not known before the counterparty's bank is. Until then ACH is shown. */
  private async byLink(
    paymentId: string,
    request: DashboardPaymentRequest,
    { organization, originator, contact }: Referenced,
    createdBy: string | null,
    at: string,
  ): Promise<PaymentCommand> {
    const { originatorId } = originator;
    const { organizationId } = organization;
    const contactId = contact?.contactId ?? null;
    const counterpartyId = contactId ?? randomUUID();
    const token = newToken();
    const tokenDigest = digestOf(token);
    const owner = ownerOf.originator(originatorId);
    const sealedToken = await this.keyring.seal(owner, token, tokenPlace(paymentId));
    const expiresAt = linkExpiryOf(at);
    const unsavedId = contact === null ? counterpartyId : null;
    const row = { tokenDigest, paymentId, organizationId, expiresAt, counterpartyId: unsavedId };
    await this.table.add(row);
    const holder = holderOf(contact ?? newRecipient(request));
    const data = {
      ...draftOf({ paymentId, idempotencyKey: null, request, organization, originator }),
      contactId,
      contact: contact && partyOf(contact.contactId, contact),
      paymentRail: 'ACH',
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
    const problems: Problem[] = [];
    if (contact.originatorId !== originatorId)
      problems.push(problem('recipient.contactId', 'validation_contact_originator_mismatch'));
    return problems.length > 0 ? invalidRequest(problems) : { organization, originator, contact };
  }
}

type ContactWithAccount = Contact & {
  readonly bankAccount: NonNullable<Contact['bankAccount']>;
};

function hasAccount(contact: Contact | null): contact is ContactWithAccount {
  return contact !== null && hasActiveAccount(contact);
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
  { state, lastEvent }: Loaded<PaymentState>,
  request: DashboardPaymentRequest,
): Created | IdempotencyKeyReused {
  if (state === null) throw new StoreUnavailable('the existing payment cannot be read yet');
  const { paymentId } = state;
  const first = fieldsOf(state);
  const now = { ...request, recipient: recipientText(request.recipient) };
  const differingFields = (Object.keys(first) as (keyof typeof first)[]).filter(
    (field) => first[field] !== now[field],
  );
  return differingFields.length === 0
    ? { payment: state, replayed: true, position: lastEvent?.position ?? null }
    : { refused: 'IDEMPOTENCY_KEY_REUSED', paymentId, differingFields };
}

/** The fields of the original request. */
function fieldsOf(payment: Payment): Readonly<Record<keyof DashboardPaymentRequest, unknown>> {
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

function recipientText(recipient: DashboardPaymentRequest['recipient']): string {
  return JSON.stringify('contactId' in recipient ? recipient.contactId : holderOf(recipient));
}
