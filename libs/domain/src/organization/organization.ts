/** Organization: the client of the service. Every other record belongs to one. */
import {
  type Aggregate,
  type Decision,
  type DomainCommand,
  type DomainEvent,
  unreachable,
} from '../decider.js';
import { paymentRails, railPreferences, type RailSettings } from '../payment/payment-rail.js';

/** Longer than any law asks for, in years. */
export const retentionYearsMax = 100;

export interface RetentionSetting {
  /**
   * How long the personal data of a party is kept after its last payment became final, and archived bank files are.
   * Whole years, 0 to retentionYearsMax. Null: as long as the installation keeps it.
   */
  readonly retentionYears: number | null;
}

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

export type OrganizationEvent =
  | DomainEvent<'OrganizationCreated', OrganizationRecord>
  /** All settings; the former ones no longer hold. */
  | DomainEvent<'OrganizationRailsSet', RailSettings>
  | DomainEvent<'OrganizationRetentionSet', RetentionSetting>;
/** The retention period is null until it is set. */
export interface Organization extends OrganizationRecord, RetentionSetting {
  readonly createdAt: string;
  /** Null until they are set. */
  readonly railSettings: RailSettings | null;
}
export type OrganizationState = Organization | null;
export type OrganizationCommand =
  | DomainCommand<'CreateOrganization', OrganizationRecord>
  | DomainCommand<'SetOrganizationRails', RailSettings>
  | DomainCommand<'SetOrganizationRetention', RetentionSetting>;
export type OrganizationRefusal = 'ORGANIZATION_ALREADY_EXISTS' | 'ORGANIZATION_NOT_FOUND';

function decide(
  command: OrganizationCommand,
  state: OrganizationState,
): Decision<OrganizationEvent, OrganizationRefusal> {
  const { at } = command;
  switch (command.type) {
    case 'CreateOrganization':
      if (state !== null) return { refused: 'ORGANIZATION_ALREADY_EXISTS' };
      assertFeeSchedule(command.data.feeSchedule);
      return [{ type: 'OrganizationCreated', at, data: command.data }];
    case 'SetOrganizationRails':
      if (state === null) return { refused: 'ORGANIZATION_NOT_FOUND' };
      assertRailSettings(command.data);
      return [{ type: 'OrganizationRailsSet', at, data: command.data }];
    case 'SetOrganizationRetention':
      if (state === null) return { refused: 'ORGANIZATION_NOT_FOUND' };
      assertRetention(command.data);
      return [{ type: 'OrganizationRetentionSet', at, data: command.data }];
    default:
      return unreachable(command);
  }
}

function evolve(state: OrganizationState, event: OrganizationEvent): OrganizationState {
  switch (event.type) {
    case 'OrganizationCreated':
      return { ...event.data, createdAt: event.at, railSettings: null, retentionYears: null };
    case 'OrganizationRailsSet':
      return { ...existing(state), railSettings: event.data };
    case 'OrganizationRetentionSet':
      return { ...existing(state), retentionYears: event.data.retentionYears };
    default:
      return unreachable(event);
  }
}

function existing(state: OrganizationState): Organization {
  if (state === null) throw new Error('the first event of an organization creates it');
  return state;
}

/** Whether it is a retention period that an organization can have. */
export function isRetentionYears(years: number): boolean {
  return Number.isSafeInteger(years) && years >= 0 && years <= retentionYearsMax;
}

/** The sender of the command has checked it. Once written, a bad period would delete too early or never. */
function assertRetention({ retentionYears }: RetentionSetting): void {
  if (retentionYears !== null && !isRetentionYears(retentionYears))
    throw new RangeError(`not a retention period in years: ${retentionYears}`);
}

/** The sender of the command has checked them. Once written, bad settings would fail every payment. */
function assertRailSettings(settings: RailSettings): void {
  const { allowedRails, preference, limitsMinor } = settings;
  const isKnown = (rail: string) => paymentRails.some((known) => known === rail);
  const limits = Object.entries(limitsMinor);
  if (
    !allowedRails.every(isKnown) ||
    !railPreferences.includes(preference) ||
    !limits.every(([rail, limit]) => isKnown(rail) && Number.isSafeInteger(limit) && limit >= 0)
  )
    throw new RangeError(`not rail settings: ${JSON.stringify(settings)}`);
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
  evolve,
  stateVersion: 3,
  schemaVersions: { OrganizationCreated: 1, OrganizationRailsSet: 1, OrganizationRetentionSet: 1 },
};
