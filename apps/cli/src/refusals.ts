/** The messages for operators when a use case refuses a command: every refusal, in one place. */
import type { ProvisioningRefusal } from '@pis/commands';
import { unreachable } from '@pis/domain';
import { CommandFailed } from './output.js';

/** A result that is not a refusal. */
type Granted = object & { readonly refused?: never };

/**
 * The result of a use case that was not refused. A refusal without a message here does not compile.
 * @throws CommandFailed for a refusal
 */
export function granted<Result extends Granted | ProvisioningRefusal>(
  result: Result,
): Exclude<Result, { readonly refused: string }> {
  if (isRefused(result)) throw new CommandFailed(messageOf(result));
  return result as Exclude<Result, { readonly refused: string }>;
}

function isRefused(result: Granted | ProvisioningRefusal): result is ProvisioningRefusal {
  return result.refused !== undefined;
}

function messageOf(refusal: ProvisioningRefusal): string {
  switch (refusal.refused) {
    case 'ORGANIZATION_NAME_LENGTH':
      return `a name has 1 to ${refusal.lengthMax} characters`;
    case 'ORGANIZATION_ALREADY_EXISTS':
      return `organization ${refusal.organizationId} exists already`;
    case 'ORGANIZATION_NOT_FOUND':
      return `there is no organization ${refusal.organizationId}`;
    case 'INVALID_REQUEST': {
      const problems = refusal.problems.map(({ message }) => `  ${message}`);
      return ['the originator is not valid:', ...problems].join('\n');
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
    default:
      return unreachable(refusal);
  }
}
