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
  type PaymentRail,
  paymentRails,
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
  /** The one that is known when it is created: its fees depend on it. */
  readonly paymentRail: PaymentRail;
  /** When it is created, ISO 8601. */
  readonly at: string;
}

/** All but the counterparty and how the rail was chosen. */
export function draftOf({
  paymentId,
  idempotencyKey,
  request,
  organization,
  originator,
  paymentRail,
  at,
}: Drafted): Omit<PaymentDetails, 'contactId' | 'contact' | 'railDecision'> {
  const { direction, paymentAmount: amountMinor, paymentNote, externalPaymentId } = request;
  const { originatorId } = originator;
  return {
    paymentId,
    organizationId: organization.organizationId,
    originatorId,
    amountMinor,
    ...feesOf(organization, { originatorId, rail: paymentRail, direction, amountMinor, at }),
    paymentRail,
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

/** Rejections of a rail that stay as long as the amount and the settings do. */
const aboveLimit = ['amount_above_rail_limit', 'amount_above_organization_limit'];

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
      this.policyOf(organization),
    );
  }

  /**
   * Whether the amount is above the limits of every rail. The account is not known yet, so the bank is taken to be
   * a US bank that takes part in all rails.
   */
  isAboveLimits(
    { direction, amountMinor, at }: Pick<Transfer, 'direction' | 'amountMinor' | 'at'>,
    organization: Organization,
  ): boolean {
    const { decision } = selectRail(
      {
        ...{ direction, amountMinor, atMs: Date.parse(at), swiftCode: null },
        ...{ participation: paymentRails, hasContactAddress: true },
      },
      this.policyOf(organization),
    );
    return !decision.isPossible && decision.rejected.some(({ code }) => aboveLimit.includes(code));
  }

  private policyOf(organization: Organization): RailPolicy {
    return { ...this.rails, settings: organization.railSettings ?? defaultRailSettings };
  }
}
