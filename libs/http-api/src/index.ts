export { AnswerWatch, type AnswerWatchOptions } from './answer-watch.js';
export { Authentication, type Clocks } from './authentication.js';
export { BoundedMap } from './bounded-map.js';
export { addressOf, networkOf, siteOf } from './client-address.js';
export { organizationRateLimitOf, rateLimitOf } from './configured-rate-limit.js';
export { Cursors, notOfThisList } from './cursor.js';
export { DirectoryLists } from './directory-lists.js';
export { answerDocument, type DownloadedDocument, openDocument } from './document-download.js';
export { type DownloadReply, Downloads } from './downloads.js';
export { answerTo, ApiError, type ErrorAnswer, invalid, notFound } from './errors.js';
export { type AnsweredFile, answerFile } from './file-answer.js';
export { configureHttp, type HttpOptions, requireJson, slowBodyMs } from './http.js';
export { OrganizationRateLimit } from './organization-rate-limit.js';
export { OwnWrites, type WriteKey } from './own-writes.js';
export { idempotencyKeyInQuery } from './idempotency-key.js';
export {
  Body,
  Caller,
  Context,
  GivenQuery,
  Id,
  IdempotencyKey,
  Query,
  UncheckedBody,
} from './inputs.js';
export { Operation, type OperationOptions } from './operation.js';
export { type ErrorPage, PageRoute } from './page-route.js';
export { type Quota, RateLimit, RateLimited, type RateLimitOptions } from './rate-limit.js';
export { type Counted, postgresTally, type RateLimitTally } from './rate-limit-tally.js';
export { granted } from './refusals.js';
export { RequestTimeLimit } from './request-time-limit.js';
export {
  accepted,
  type Answer,
  answer,
  bodyOf,
  contextBy,
  type Given,
  idIn,
  now,
} from './requests.js';
export { type TurnLimits, Turns } from './turns.js';
export { ServedWebhookTests } from './webhook-tests.js';
