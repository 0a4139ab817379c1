/** What a new payment is made of, however it is created: its parties as they are now, its fees, and its rail. */
import {
  defaultRailSettings,
  type RailPolicy,
  type RailSelection,
  type RoutingDirectory,
  selectRail,
} from '@pis/bank-rails';
import type { PaymentCreateRequest } from '@pis/contracts';
import {
  type Contact,
  type Direction,
  feesOf,
  type Organization,
  type Originator,
  type PaymentDetails,
  type PaymentParty,
} from '@pis/domain';

/** The rails of this system, with the cutoffs of its banks. */
export type OfferedRails = Omit<RailPolicy, 'settings'>;

export interface Drafted {
  readonly paymentId: string;
  readonly idempotencyKey: string | null;
  readonly request: Pick<
    PaymentCreateRequest,
    'direction' | 'paymentAmount' | 'paymentNote' | 'externalPaymentId'
  >;
  readonly organization: Organization;
  readonly originator: Originator;
}

/** All but the counterparty and the rail. */
export function draftOf({
  paymentId,
  idempotencyKey,
  request,
  organization,
  originator,
}: Drafted): Omit<PaymentDetails, 'contactId' | 'contact' | 'paymentRail' | 'railDecision'> {
  const { direction, paymentAmount: amountMinor, paymentNote, externalPaymentId } = request;
  return {
    paymentId,
    organizationId: organization.organizationId,
    originatorId: originator.originatorId,
    amountMinor,
    ...feesOf(organization.feeSchedule, amountMinor),
    currencyCode: 'USD',
    direction,
    paymentNote,
    externalPaymentId,
    idempotencyKey,
    originator: partyOf(originator.originatorId, originator),
  };
}

/** A snapshot of the party: later changes of the record do not affect the payment. */
export function partyOf(id: string, party: Originator | Contact): PaymentParty {
  const { entityType, firstName, lastName, companyName, legalAddress, bankAccount } = party;
  return { id, entityType, firstName, lastName, companyName, legalAddress, bankAccount };
}

export interface Transfer {
  readonly direction: Direction;
  /** What the transfer moves. */
  readonly amountMinor: number;
  /** ISO 8601. */
  readonly at: string;
  /** Of the contact's account; null where they do not matter. */
  readonly codes: {
    readonly achRoutingNumber: string;
    readonly swiftCode: string | null;
  } | null;
  readonly hasContactAddress: boolean;
}

export class RailChoice {
  private readonly banks: RoutingDirectory;
  private readonly rails: OfferedRails;

  constructor({
    banks,
    rails,
  }: {
    readonly banks: RoutingDirectory;
    readonly rails: OfferedRails;
  }) {
    this.banks = banks;
    this.rails = rails;
  }

  /** @throws when the routing directory cannot be reached */
  async select(
    { direction, amountMinor, at, codes, hasContactAddress }: Transfer,
    organization: Organization,
  ): Promise<RailSelection> {
    const bank = codes && (await this.banks.find(codes.achRoutingNumber));
    return selectRail(
      {
        direction,
        amountMinor,
        atMs: Date.parse(at),
        swiftCode: codes?.swiftCode ?? null,
        participation: bank?.rails ?? null,
        hasContactAddress,
      },
      { ...this.rails, settings: organization.railSettings ?? defaultRailSettings },
    );
  }
}
