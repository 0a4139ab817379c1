/** The operations of the specification, for what holds for all of them. */
import { unknownId } from './things.js';

/** An id of nobody stands for `:id`. */
export const operations: readonly (readonly [method: string, path: string])[] = [
  ['GET', '/v1/originators/'],
  ['PATCH', `/v1/originators/${unknownId}`],
  ['POST', '/v1/contacts/'],
  ['GET', '/v1/contacts/'],
  ['PATCH', `/v1/contacts/${unknownId}`],
  ['POST', '/v1/payments/'],
  ['GET', `/v1/payments/${unknownId}`],
  ['GET', '/v1/payments/'],
  ['POST', '/v1/webhooks'],
  ['GET', '/v1/webhooks'],
  ['GET', `/v1/webhooks/${unknownId}`],
  ['PATCH', `/v1/webhooks/${unknownId}`],
  ['DELETE', `/v1/webhooks/${unknownId}`],
  ['POST', `/v1/webhooks/${unknownId}/test`],
];

/** A body where the method has one: what is refused then is not refused for want of it. */
export const withBody = (method: string) =>
  ['POST', 'PATCH'].includes(method) ? { body: {} } : {};
