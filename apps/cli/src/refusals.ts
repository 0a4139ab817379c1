/** The message for operators for each refusal of a use case. */
import {
  grantedOrThrow,
  type OrganizationApprovalsRefusal,
  type OrganizationBrandingRefusal,
  type OrganizationFeesRefusal,
  type OrganizationRailsRefusal,
  type OrganizationRetentionRefusal,
  type OrganizationTimeZoneRefusal,
  type PartyErasureRefusal,
  type ProvisioningRefusal,
  type SettlementAccountMissing,
} from '@pis/commands';
import type { FeeCollectionRefusal, ReopenRefusal } from '@pis/fees';
import { passwordRule, type UserChangeRefusal, type UserCreationRefusal } from '@pis/users';
import { unreachable } from '@pis/domain';
import { CommandFailed } from './output.js';

type UseCaseRefusal =
  | FeeCollectionRefusal
  | ReopenRefusal
  | ProvisioningRefusal
  | OrganizationApprovalsRefusal
  | OrganizationBrandingRefusal
  | OrganizationFeesRefusal
  | OrganizationRailsRefusal
  | OrganizationRetentionRefusal
  | OrganizationTimeZoneRefusal
  | PartyErasureRefusal
  | SettlementAccountMissing
  | UserCreationRefusal
  | UserChangeRefusal;

/** The result of a use case that was not refused. @throws CommandFailed for a refusal */
export const granted = grantedOrThrow<UseCaseRefusal>(
  (refusal) => new CommandFailed(messageOf(refusal)),
);

function messageOf(refusal: UseCaseRefusal): string {
  switch (refusal.refused) {
    case 'ORGANIZATION_NAME_LENGTH':
      return `a name must have 1 to ${refusal.lengthMax} characters`;
    case 'ORGANIZATION_ALREADY_EXISTS':
      return `organization ${refusal.organizationId} exists already`;
    case 'ORGANIZATION_NOT_FOUND':
      return 'organizationId' in refusal
        ? `there is no organization ${refusal.organizationId}`
        : 'there is no such organization';
    case 'EMAIL_INVALID':
      return 'this is no e-mail address';
    case 'EMAIL_IN_USE':
      return 'a user has this e-mail address';
    case 'TOO_MANY_USERS':
      return 'the organization has as many users as it may have';
    case 'PASSWORD_LENGTH':
      return passwordRule;
    case 'USER_NOT_FOUND':
      return 'there is no such user';
    case 'LAST_ADMIN':
      return 'this is the last administrator of the organization: create another one first';
    case 'LOGO_NOT_ACCEPTED':
      return `the logo is not accepted: ${refusal.problem}`;
    case 'RETENTION_YEARS_OUT_OF_RANGE':
      return `a retention period is 0 to ${refusal.yearsMax} whole years`;
    case 'SETTLEMENT_ACCOUNT_MISSING':
      return 'there is no settlement account: set one with pis settlement-account set';
    case 'MONTH_NOT_BEGUN':
      return 'the month has not begun';
    case 'MONTH_NOT_ENDED':
      return 'the month has not ended';
    case 'COLLECTOR_BUSY':
      return 'another collector is at work: try again later';
    case 'FEE_PERIOD_NOT_FOUND':
      return 'there is no such fee period';
    case 'FEE_PERIOD_NOT_REOPENED':
      return 'the originator was erased, or the fees are more than an ACH entry can hold';
    case 'COLLECTION_SETTLED':
      return 'the bank has settled the last collection after all: the period will be COLLECTED';
    case 'COLLECTION_SENT_BEFORE':
      return 'the bank may have debited the last collection before the log was restored: ask it, and say --not-debited if it has not, or has given the money back';
    case 'TIME_ZONE_UNKNOWN':
      return 'this is no time zone of the IANA database';
    case 'APPROVAL_AMOUNT_OUT_OF_RANGE':
      return `the amount is 0 to ${refusal.amountMax} cents`;
    case 'INVALID_REQUEST': {
      const problems = refusal.problems.map(({ message }) => `  ${message}`);
      return ['the input is not valid:', ...problems].join('\n');
    }
    case 'ORIGINATOR_ALREADY_EXISTS':
      return `originator ${refusal.originatorId} exists already`;
    case 'EXPIRY_NOT_ISO_8601':
      return 'the expiry must be in ISO 8601: 2027-01-31T12:00:00Z';
    case 'EXPIRY_NOT_IN_FUTURE':
      return 'the expiry must be in the future';
    case 'API_KEY_PREFIX':
      return `a key of the ${refusal.environment} begins with ${refusal.prefix}`;
    case 'API_KEY_ALREADY_EXISTS':
      return 'this key exists already';
    case 'API_KEY_NOT_FOUND':
      return 'there is no such API key';
    case 'PARTY_NOT_FOUND':
      return `there is no ${refusal.kind} ${refusal.id}`;
    case 'PARTY_IS_BUSINESS':
      return `${refusal.kind} ${refusal.id} is a business: only an individual can be erased`;
    case 'PAYMENTS_NOT_FINAL': {
      const { transfer, count, paymentId } = refusal;
      const found = count === 1 ? `1 ${transfer} is` : `${count} ${transfer}s are`;
      return `${found} not final, for example ${paymentId}`;
    }
    case 'RETENTION_RUNNING':
      return `the retention period runs until ${refusal.until}, ${refusal.retentionYears} years after the last payment; --override-retention erases nevertheless`;
    case 'ERASURE_INTERRUPTED':
      return `another run has requested the erasure of ${refusal.kind} ${refusal.id} since: run it again`;
    case 'LATE_PAYMENT_NOT_FINAL':
      return `the erasure is confirmed, but ${refusal.transfer} ${refusal.paymentId} came late and is not final: run it again when it is`;
    default:
      return unreachable(refusal);
  }
}
