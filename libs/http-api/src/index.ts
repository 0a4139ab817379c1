export { Authentication, authorize, type Caller, type Clocks } from './authentication.js';
export { Cursors } from './cursor.js';
export { answerTo, ApiError, type ErrorAnswer, invalid, notFound } from './errors.js';
export { callerOf, configureHttp, type HttpOptions } from './http.js';
export { OwnWrites, type WriteKey } from './own-writes.js';
export { type Quota, RateLimit, RateLimited, type RateLimitOptions } from './rate-limit.js';
export { type Counted, postgresTally, type RateLimitTally } from './rate-limit-tally.js';
export { OwnTimeLimit, RequestTimeLimit } from './request-time-limit.js';
export { accepted, type Answer, answer, bodyOf, contextOf, idIn, now } from './requests.js';
