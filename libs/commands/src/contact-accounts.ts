/**
 * What is known of a saved contact's bank account, and how the client answers a notification of change: by
 * taking over what the bank says, or by dismissing it. Entering another account (ContactDirectory) answers it, too.
 * Numbers leave this file masked.
 */
import { type CorrectedData, correctionPlace, railReferenceOf } from '@pis/bank-rails';
import {
  type Contact,
  contact as contacts,
  hasActiveAccount,
  payment as payments,
  type AnsweredCorrection,
  type Refusal,
  type ReportedCorrection,
} from '@pis/domain';
import { type CommandContext, repository } from '@pis/event-store';
import {
  CannotOpen,
  KeyDestroyed,
  type Keyring,
  maskNumber,
  openBankAccount,
  ownerOf,
} from '@pis/keyring';
import type { ContactDirectory, ContactUpdateRefusal } from './contact-directory.js';
import {
  type InvalidRequest,
  isUsable,
  now,
  type OwnWrites,
  type UseCaseOptions,
} from './use-case.js';

export interface ContactAccountsOptions extends UseCaseOptions {
  readonly contacts: Pick<ContactDirectory, 'updateUnless'>;
  /** The connection that a prenote of the account went over; null if there was none. */
  readonly prenoteConnection: (reference: string) => Promise<string | null>;
}

export interface ShownCorrection extends AnsweredCorrection {
  /** Whether the client has dismissed it. */
  readonly isDismissed: boolean;
  /** Numbers are masked. Null when it cannot be read. */
  readonly corrected: CorrectedData | null;
  /** Whether the account can be replaced by what the bank says. */
  readonly isApplicable: boolean;
}

export interface ContactWithAccount {
  readonly contact: Contact;
  /** Whether money may go to the account without asking the contact. */
  readonly isActive: boolean;
  readonly correction: ShownCorrection | null;
}

export type CorrectionRefusal =
  | Exclude<ContactUpdateRefusal, InvalidRequest>
  | Refusal<'CORRECTION_NOT_FOUND' | 'CORRECTION_NOT_APPLICABLE'>;

export class ContactAccounts {
  private readonly keyring: Keyring;
  private readonly ownWrites: OwnWrites;
  private readonly contacts;
  private readonly payments;

  constructor(private readonly options: ContactAccountsOptions) {
    const { store, states, keyring, ownWrites } = options;
    this.keyring = keyring;
    this.ownWrites = ownWrites;
    this.contacts = repository(store, contacts, { states });
    this.payments = repository(store, payments);
  }

  /** @throws StoreUnavailable */
  async find(
    organizationId: string,
    contactId: string,
  ): Promise<ContactWithAccount | Refusal<'CONTACT_NOT_FOUND'>> {
    const { state, lastEvent } = await this.contacts.load(contactId, organizationId);
    if (!isUsable(state, organizationId)) return { refused: 'CONTACT_NOT_FOUND' };
    // A list that is loaded next shows what was read here.
    this.ownWrites.note('directory', organizationId, lastEvent?.position ?? null);
    const correction = state.correction && (await this.shown(state, state.correction));
    return { contact: state, isActive: hasActiveAccount(state), correction };
  }

  /**
   * Replaces what the bank says is wrong. Refused if the account has been changed since it was read: then what the bank
   * says is about another account.
   * @param answered the correction that the client has seen
   * @throws StoreUnavailable
   */
  async apply(
    organizationId: string,
    contactId: string,
    answered: AnsweredCorrection,
    context: CommandContext,
  ): Promise<Contact | CorrectionRefusal> {
    const { state } = await this.contacts.load(contactId, organizationId);
    if (!isUsable(state, organizationId)) return { refused: 'CONTACT_NOT_FOUND' };
    const { bankAccount, correction } = state;
    if (bankAccount === null || correction === null || !isAnsweredBy(answered, state))
      return { refused: 'CORRECTION_NOT_FOUND' };
    const corrected = await this.opened(contactId, correction);
    if (corrected === null || !isApplicable(corrected))
      return { refused: 'CORRECTION_NOT_APPLICABLE' };
    const owner = ownerOf.contact(contactId);
    const { achRoutingNumber, achAccountNumber, subType } = corrected;
    const account = {
      ...(await openBankAccount(this.keyring, bankAccount, owner)),
      subType: subType ?? bankAccount.subType,
      ...(achRoutingNumber === undefined ? {} : { achRoutingNumber }),
      ...(achAccountNumber === undefined ? {} : { achAccountNumber }),
    };
    const updated = await this.options.contacts.updateUnless(
      organizationId,
      contactId,
      { bankAccount: account },
      context,
      (current) =>
        current.bankAccount?.sealed === bankAccount.sealed && isAnsweredBy(answered, current)
          ? null
          : ({ refused: 'CORRECTION_NOT_FOUND' } as const),
    );
    // What the bank says is no account that is accepted: the client must enter it.
    return 'refused' in updated && updated.refused === 'INVALID_REQUEST'
      ? { refused: 'CORRECTION_NOT_APPLICABLE' }
      : updated;
  }

  /** The account stays as it is, and counts as active again. @throws StoreUnavailable */
  async dismiss(
    organizationId: string,
    contactId: string,
    data: AnsweredCorrection,
    context: CommandContext,
  ): Promise<Contact | Refusal<'CONTACT_NOT_FOUND' | 'CORRECTION_NOT_FOUND'>> {
    const { state } = await this.contacts.load(contactId, organizationId);
    if (!isUsable(state, organizationId)) return { refused: 'CONTACT_NOT_FOUND' };
    const command = { type: 'DismissContactCorrection', at: now(), data } as const;
    const result = await this.contacts.execute(contactId, command, context);
    if ('refused' in result)
      return result.refused === 'CORRECTION_NOT_FOUND'
        ? { refused: result.refused }
        : { refused: 'CONTACT_NOT_FOUND' };
    this.ownWrites.note('directory', organizationId, result.position);
    if (result.state === null) throw new Error('a contact with a correction is missing');
    return result.state;
  }

  private async shown(
    { contactId, bankAccount }: Contact,
    correction: NonNullable<Contact['correction']>,
  ): Promise<ShownCorrection> {
    const corrected = await this.opened(contactId, correction);
    return {
      paymentId: correction.paymentId,
      changeCode: correction.changeCode,
      isDismissed: correction.dismissed === true,
      corrected: corrected && masked(corrected),
      isApplicable: bankAccount !== null && corrected !== null && isApplicable(corrected),
    };
  }

  /**
   * The full numbers. Null when they cannot be read: the contact is being erased, its connection is unknown, or the bank
   * reported them for an earlier contact that the log has lost.
   */
  private async opened(
    contactId: string,
    { paymentId, corrected }: ReportedCorrection,
  ): Promise<CorrectedData | null> {
    const { state } = await this.payments.load(paymentId);
    const reference = state?.railReference ?? railReferenceOf(paymentId);
    const connection = state?.connection ?? (await this.options.prenoteConnection(reference));
    if (connection === null) return null;
    try {
      const place = correctionPlace(connection, reference);
      const text = await this.keyring.open(corrected, ownerOf.contact(contactId), place);
      return JSON.parse(text) as CorrectedData;
    } catch (error) {
      if (error instanceof KeyDestroyed || error instanceof CannotOpen) return null;
      throw error;
    }
  }
}

function isAnsweredBy(
  { paymentId, changeCode }: AnsweredCorrection,
  { correction }: Contact,
): boolean {
  return correction?.paymentId === paymentId && correction.changeCode === changeCode;
}

function isApplicable({ achRoutingNumber, achAccountNumber, subType }: CorrectedData): boolean {
  return [achRoutingNumber, achAccountNumber, subType].some((field) => field !== undefined);
}

/** As long as the shortest account number. */
const numbersIn = /\d{4,}/g;

function masked(data: CorrectedData): CorrectedData {
  const { achRoutingNumber, achAccountNumber, other } = data;
  return {
    ...data,
    ...(achRoutingNumber === undefined ? {} : { achRoutingNumber: maskNumber(achRoutingNumber) }),
    ...(achAccountNumber === undefined ? {} : { achAccountNumber: maskNumber(achAccountNumber) }),
    ...(other === undefined ? {} : { other: other.replaceAll(numbersIn, maskNumber) }),
  };
}
