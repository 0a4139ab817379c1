/** Organization: the client of the service. Every other record belongs to one. */
import { type Aggregate, type Decision, type DomainCommand, type DomainEvent } from '../decider.js';

/** What a payment of this organization costs. Fees are collected apart from payments (rule service-9). */
export interface FeeSchedule {
  /** Share of the amount in hundredths of a percent, 0 to 10,000; the fee is rounded down. */
  readonly discountBasisPoints: number;
  readonly flatFeeMinor: number;
  readonly returnFeeMinor: number;
}

export interface OrganizationRecord {
  readonly organizationId: string;
  readonly name: string;
  readonly feeSchedule: FeeSchedule;
}

export type OrganizationEvent = DomainEvent<'OrganizationCreated', OrganizationRecord>;
export type OrganizationState = (OrganizationRecord & { readonly createdAt: string }) | null;
export type OrganizationCommand = DomainCommand<'CreateOrganization', OrganizationRecord>;
export type OrganizationRefusal = 'ORGANIZATION_ALREADY_EXISTS';

function decide(
  command: OrganizationCommand,
  state: OrganizationState,
): Decision<OrganizationEvent, OrganizationRefusal> {
  if (state !== null) return { refused: 'ORGANIZATION_ALREADY_EXISTS' };
  assertFeeSchedule(command.data.feeSchedule);
  return [{ type: 'OrganizationCreated', at: command.at, data: command.data }];
}

/** The sender of the command has checked it. Once written, a bad schedule would fail every payment. */
function assertFeeSchedule(schedule: FeeSchedule): void {
  const { discountBasisPoints, flatFeeMinor, returnFeeMinor } = schedule;
  const whole = [discountBasisPoints, flatFeeMinor, returnFeeMinor].every(
    (value) => Number.isSafeInteger(value) && value >= 0,
  );
  if (!whole || discountBasisPoints > 10_000)
    throw new RangeError(`not a fee schedule: ${JSON.stringify(schedule)}`);
}

/** The fees of one payment in minor units, from the schedule in force when it is created. */
export function feesOf(
  schedule: FeeSchedule,
  amountMinor: number,
): { discountFeeMinor: number; flatFeeMinor: number; returnFeeMinor: number } {
  // In BigInt: amount times basis points can exceed what a double holds exactly.
  const discount = (BigInt(amountMinor) * BigInt(schedule.discountBasisPoints)) / 10_000n;
  return {
    discountFeeMinor: Number(discount),
    flatFeeMinor: schedule.flatFeeMinor,
    returnFeeMinor: schedule.returnFeeMinor,
  };
}

export const organization: Aggregate<
  OrganizationState,
  OrganizationCommand,
  OrganizationEvent,
  OrganizationRefusal
> = {
  category: 'organization',
  initial: null,
  decide,
  evolve: (_state, event) => ({ ...event.data, createdAt: event.at }),
  stateVersion: 1,
  schemaVersions: { OrganizationCreated: 1 },
};
