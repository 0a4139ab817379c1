/** The API's error for each refusal of a use case. */
import {
  type CancellationRefusal,
  type ContactCreationRefusal,
  type ContactUpdateRefusal,
  type CorrectionRefusal,
  grantedOrThrow,
  type LinkRequestRefusal,
  type OriginatorUpdateRefusal,
  type PaymentCreationRefusal,
  type PaymentSimulationRefusal,
  type ShowRefusal,
  type WebhookEndpointRefusal,
  type WebhookTestRefusal,
} from '@pis/commands';
import { problem } from '@pis/contracts';
import { unreachable } from '@pis/domain';
import { ApiError, invalid, notFound } from './errors.js';

type ClientRefusal =
  | CancellationRefusal
  | LinkRequestRefusal
  | ShowRefusal
  | ContactCreationRefusal
  | ContactUpdateRefusal
  | CorrectionRefusal
  | OriginatorUpdateRefusal
  | PaymentCreationRefusal
  | PaymentSimulationRefusal
  | WebhookEndpointRefusal
  | WebhookTestRefusal;

/** The result of a use case that was not refused. @throws ApiError for a refusal */
export const granted = grantedOrThrow<ClientRefusal>(apiErrorOf);

function apiErrorOf(refusal: ClientRefusal): ApiError {
  switch (refusal.refused) {
    case 'ORIGINATOR_NOT_FOUND':
      return notFound('originator');
    case 'CONTACT_NOT_FOUND':
      return notFound('contact');
    case 'PAYMENT_NOT_FOUND':
      return notFound('payment');
    case 'WEBHOOK_ENDPOINT_NOT_FOUND':
      return notFound('webhook endpoint');
    case 'INVALID_REQUEST':
      return invalid(refusal.problems);
    case 'SUBSCRIPTION_LIMIT_EXCEEDED':
      return invalid([problem('subscribedEvents', 'validation_subscription_limit')]);
    case 'CORRECTION_NOT_FOUND':
      return new ApiError('CONFLICT', 'the correction was answered already, or is another one now');
    case 'CORRECTION_NOT_APPLICABLE':
      return new ApiError('CONFLICT', 'the correction names no usable account; enter the account');
    case 'NO_LINK':
      return notFound('link of the payment');
    case 'DUPLICATE_CONTACT':
      return new ApiError('CONFLICT', 'a contact with these details exists already');
    case 'IDEMPOTENCY_KEY_REUSED':
      // No details: the specification keeps them for validation errors.
      return new ApiError(
        'IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_BODY',
        `this Idempotency-Key created payment ${refusal.paymentId} from a request that differs in: ${refusal.differingFields.join(', ')}`,
      );
    case 'MAY_BE_SUBMITTED':
      return new ApiError(
        'CONFLICT',
        'the database was restored or failed over, and a bank may have the payment: it can be canceled when the operator has compared',
      );
    case 'NOT_ALLOWED_IN_STATUS':
      return new ApiError('CONFLICT', `a payment in ${refusal.status} cannot make this transition`);
    case 'TOO_MANY_TESTS_OF_CALLER':
      return new ApiError('RATE_LIMITED', 'too many tests are under way; wait until one has ended');
    case 'TOO_MANY_TESTS':
      return new ApiError(
        'SERVICE_UNAVAILABLE',
        'too many tests are under way in all; retry shortly',
      );
    case 'TEST_INTERRUPTED':
      return new ApiError('SERVICE_UNAVAILABLE', 'the service is shutting down');
    default:
      return unreachable(refusal);
  }
}
