/** Organization: the client of the service. Every other record belongs to one. */
import {
  type Aggregate,
  type Decision,
  type DomainCommand,
  type DomainEvent,
  unreachable,
} from '../decider.js';
import { assertBranding, type Branding, type LogoRecord } from './branding.js';
import { assertFeeRules, assertFeeSchedule, type FeeRule, type FeeSchedule } from './fees.js';
import { defaultTimeZone, isTimeZone } from '../calendar/month.js';
import { paymentRails, railPreferences, type RailSettings } from '../payment/payment-rail.js';
import { maxAmountMinor } from '../payment/payment.js';

/** Longer than any law asks for, in years. */
export const retentionYearsMax = 100;

export interface RetentionSetting {
  /**
   * How long the personal data of a party is kept after its last payment became final, and archived bank files are.
   * Whole years, 0 to retentionYearsMax. Null: as long as the installation keeps it.
   */
  readonly retentionYears: number | null;
}

export interface ApprovalSetting {
  /**
   * A payment of the dashboard above this amount needs a second person, minor units, 0 to maxAmountMinor. Null: none
   * does.
   */
  readonly approvalAboveMinor: number | null;
}

export interface TimeZoneSetting {
  /** A name of the IANA database. Months of fees and statements begin and end by it. */
  readonly timeZone: string;
}

export interface OrganizationRecord {
  readonly organizationId: string;
  readonly name: string;
  /** Holds until fee rules are set. */
  readonly feeSchedule: FeeSchedule;
}

export interface FeeRules {
  readonly rules: readonly FeeRule[];
}

export type OrganizationEvent =
  | DomainEvent<'OrganizationCreated', OrganizationRecord>
  /** All settings; the former ones no longer hold. */
  | DomainEvent<'OrganizationRailsSet', RailSettings>
  | DomainEvent<'OrganizationRetentionSet', RetentionSetting>
  /** All rules; the former ones and the schedule of the creation no longer hold. */
  | DomainEvent<'OrganizationFeesSet', FeeRules>
  | DomainEvent<'OrganizationBrandingSet', Branding>
  | DomainEvent<'OrganizationApprovalsSet', ApprovalSetting>
  | DomainEvent<'OrganizationTimeZoneSet', TimeZoneSetting>;
type Settings = RetentionSetting & ApprovalSetting & TimeZoneSetting;
/** The retention period and the amount for approvals are null until they are set. */
export interface Organization extends OrganizationRecord, Settings {
  readonly createdAt: string;
  /** Null until they are set. */
  readonly railSettings: RailSettings | null;
  /** Null until they are set. */
  readonly feeRules: readonly FeeRule[] | null;
  readonly logo: LogoRecord | null;
}
export type OrganizationState = Organization | null;
export type OrganizationCommand =
  | DomainCommand<'CreateOrganization', OrganizationRecord>
  | DomainCommand<'SetOrganizationRails', RailSettings>
  | DomainCommand<'SetOrganizationRetention', RetentionSetting>
  | DomainCommand<'SetOrganizationFees', FeeRules>
  | DomainCommand<'SetOrganizationBranding', Branding>
  | DomainCommand<'SetOrganizationApprovals', ApprovalSetting>
  | DomainCommand<'SetOrganizationTimeZone', TimeZoneSetting>;
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
    case 'SetOrganizationFees':
      if (state === null) return { refused: 'ORGANIZATION_NOT_FOUND' };
      assertFeeRules(command.data.rules);
      return [{ type: 'OrganizationFeesSet', at, data: command.data }];
    case 'SetOrganizationBranding':
      if (state === null) return { refused: 'ORGANIZATION_NOT_FOUND' };
      assertBranding(command.data);
      return [{ type: 'OrganizationBrandingSet', at, data: command.data }];
    case 'SetOrganizationApprovals':
      if (state === null) return { refused: 'ORGANIZATION_NOT_FOUND' };
      assertApprovals(command.data);
      if (state.approvalAboveMinor === command.data.approvalAboveMinor) return [];
      return [{ type: 'OrganizationApprovalsSet', at, data: command.data }];
    case 'SetOrganizationTimeZone':
      if (state === null) return { refused: 'ORGANIZATION_NOT_FOUND' };
      assertTimeZone(command.data);
      if (state.timeZone === command.data.timeZone) return [];
      return [{ type: 'OrganizationTimeZoneSet', at, data: command.data }];
    default:
      return unreachable(command);
  }
}

const unset = {
  ...{ railSettings: null, retentionYears: null, feeRules: null, logo: null },
  ...{ approvalAboveMinor: null, timeZone: defaultTimeZone },
} as const;

function evolve(state: OrganizationState, event: OrganizationEvent): OrganizationState {
  switch (event.type) {
    case 'OrganizationCreated':
      return { ...event.data, createdAt: event.at, ...unset };
    case 'OrganizationRailsSet':
      return { ...existing(state), railSettings: event.data };
    case 'OrganizationRetentionSet':
      return { ...existing(state), retentionYears: event.data.retentionYears };
    case 'OrganizationFeesSet':
      return { ...existing(state), feeRules: event.data.rules };
    case 'OrganizationBrandingSet':
      return branded(existing(state), event.data);
    case 'OrganizationApprovalsSet':
      return { ...existing(state), approvalAboveMinor: event.data.approvalAboveMinor };
    case 'OrganizationTimeZoneSet':
      return { ...existing(state), timeZone: event.data.timeZone };
    default:
      return unreachable(event);
  }
}

/** Without the bytes of the logo: states are kept in memory. */
function branded(organization: Organization, { name, logo }: Branding): Organization {
  if (logo === undefined) return { ...organization, name };
  const record = logo && { digest: logo.digest, width: logo.width, height: logo.height };
  return { ...organization, name, logo: record };
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

/** Whether it is an amount above which an organization can ask for approvals. Minor units. */
export function isApprovalAmount(amountMinor: number): boolean {
  return Number.isSafeInteger(amountMinor) && amountMinor >= 0 && amountMinor <= maxAmountMinor;
}

/** The sender of the command has checked it. Once written, a bad amount would let every payment through. */
function assertApprovals({ approvalAboveMinor }: ApprovalSetting): void {
  if (approvalAboveMinor !== null && !isApprovalAmount(approvalAboveMinor))
    throw new RangeError(`not an amount in cents: ${approvalAboveMinor}`);
}

/** The sender of the command has checked it. Once written, no month of a bad zone could be closed. */
function assertTimeZone({ timeZone }: TimeZoneSetting): void {
  if (!isTimeZone(timeZone)) throw new RangeError('not a time zone');
}

/** Whether a payment of the dashboard needs a second person. */
export function needsApproval({ approvalAboveMinor }: ApprovalSetting, amountMinor: number) {
  return approvalAboveMinor !== null && amountMinor > approvalAboveMinor;
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
  stateVersion: 7,
  schemaVersions: {
    OrganizationCreated: 1,
    OrganizationRailsSet: 1,
    OrganizationRetentionSet: 1,
    OrganizationFeesSet: 1,
    OrganizationBrandingSet: 1,
    OrganizationApprovalsSet: 1,
    OrganizationTimeZoneSet: 1,
  },
};
