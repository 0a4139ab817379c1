/** What a client is answered when a use case refuses its request: every refusal, in one place. */
import type { PaymentCreationRefusal } from '@pis/commands';
import { unreachable } from '@pis/domain';
import { ApiError, invalid, notFound } from '@pis/http-api';

export type ClientRefusal = PaymentCreationRefusal;

/** A result that is no refusal. */
type Granted = object & { readonly refused?: never };

/**
 * The result of a use case that was not refused. A refusal that has no answer here does not compile.
 * @throws ApiError for a refusal
 */
export function granted<Result extends Granted | ClientRefusal>(
  result: Result,
): Exclude<Result, { readonly refused: string }> {
  if (isRefused(result)) throw apiErrorOf(result);
  return result as Exclude<Result, { readonly refused: string }>;
}

function isRefused(result: Granted | ClientRefusal): result is ClientRefusal {
  return result.refused !== undefined;
}

function apiErrorOf(refusal: ClientRefusal): ApiError {
  switch (refusal.refused) {
    case 'ORIGINATOR_NOT_FOUND':
      return notFound('originator');
    case 'CONTACT_NOT_FOUND':
      return notFound('contact');
    case 'INVALID_REQUEST':
      return invalid(refusal.problems);
    case 'IDEMPOTENCY_KEY_REUSED':
      // No details: the specification keeps them for validation errors.
      return new ApiError(
        'IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_BODY',
        `this Idempotency-Key created payment ${refusal.paymentId} from a request that differs in: ${refusal.differingFields.join(', ')}`,
      );
    default:
      return unreachable(refusal);
  }
}
