/**
 * From zod's issues to the API's: `{field, issue: validation_*, message}`, all of them at once.
 *
 * A schema names its code as the message of a check; what zod finds by itself (a missing field, a
 * wrong type, a length) is translated here, in one place.
 */
import type { z } from 'zod';
import type { Problem } from './error-codes.js';

/** Stable: clients branch on them (rule validation-1). A test pins the list. */
export const validationCodes = [
  'validation_required',
  'validation_type',
  'validation_uuid',
  'validation_enum',
  'validation_min_length',
  'validation_max_length',
  'validation_min',
  'validation_max',
  'validation_integer',
  'validation_email',
  'validation_phone_number',
  'validation_postal_code',
  'validation_state',
  'validation_country_code',
  'validation_routing_number',
  'validation_account_number',
  'validation_swift_code',
  'validation_datetime',
  'validation_date_range',
  'validation_cursor',
  'validation_url',
  'validation_url_https',
  'validation_url_credentials',
  'validation_url_private_address',
  'validation_event_type',
  'validation_subscription_limit',
  'validation_contact_originator_mismatch',
  'validation_contact_bank_account_required',
] as const;
export type ValidationCode = (typeof validationCodes)[number];

const messages: Readonly<Record<ValidationCode, string>> = {
  validation_required: 'is required',
  validation_type: 'has the wrong type',
  validation_uuid: 'must be a UUID',
  validation_enum: 'is not one of the allowed values',
  validation_min_length: 'is too short',
  validation_max_length: 'is too long',
  validation_min: 'is too small',
  validation_max: 'is too large',
  validation_integer: 'must be a whole number',
  validation_email: 'must be an e-mail address',
  validation_phone_number:
    'must be a phone number in international format, for example +12125550123',
  validation_postal_code: 'must be a postal code; five digits in the US',
  validation_state: 'must be a state; two letters in the US',
  validation_country_code: 'must be a two-letter country code',
  validation_routing_number: 'must be a nine-digit ABA routing number with a valid checksum',
  validation_account_number: 'must be 4 to 17 digits',
  validation_swift_code: 'must be a SWIFT code (BIC) of 8 or 11 characters',
  validation_datetime: 'must be a date or a time in ISO 8601',
  validation_date_range: 'is before the beginning of the range, or in the future',
  validation_cursor: 'is not a cursor that this list returned',
  validation_url: 'must be a URL',
  validation_url_https: 'must be an https URL',
  validation_url_credentials: 'must not contain credentials',
  validation_url_private_address: 'must be publicly reachable',
  validation_event_type: 'is not an event type',
  validation_subscription_limit:
    'names an event type that five endpoints are subscribed to already',
  validation_contact_originator_mismatch: 'is a contact of another originator',
  validation_contact_bank_account_required: 'is a contact without a bank account',
};

export type Validated<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** More than a request has fields: an answer must not be much longer than its request. */
const problemsMax = 100;

export function validate<Value>(schema: z.ZodType<Value>, input: unknown): Validated<Value> {
  const result = schema.safeParse(input, translated);
  if (result.success) return { ok: true, value: result.data };
  return { ok: false, problems: result.error.issues.slice(0, problemsMax).map(problemOf) };
}

/** A problem that was found outside a schema, worded as a schema would. */
export function problem(field: string, issue: ValidationCode, detail?: string): Problem {
  return { field, issue, message: `${field || 'the body'} ${detail ?? messages[issue]}` };
}

/** A rule without a code: `issue` describes it (rule error-4). */
export const unsupportedCharacters = 'must not contain NUL or unpaired surrogates';

/** The input is reported only for the wording: no message quotes it. */
const translated = { error: codeOf, reportInput: true };

/** zod asks for a message and gets the code; schemas that name their own code are not asked. */
function codeOf(issue: z.core.$ZodRawIssue): ValidationCode {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined || issue.input === null) return 'validation_required';
      // A number of JSON that no double can hold, 1e400 for instance.
      if (issue.input === Infinity) return 'validation_max';
      if (issue.input === -Infinity) return 'validation_min';
      return 'validation_type';
    case 'too_small':
      return issue.origin === 'number' || issue.origin === 'int'
        ? 'validation_min'
        : 'validation_min_length';
    case 'too_big':
      return issue.origin === 'number' || issue.origin === 'int'
        ? 'validation_max'
        : 'validation_max_length';
    case 'invalid_value':
      if (issue.input === undefined || issue.input === null) return 'validation_required';
      return typeof issue.input === 'string' ? 'validation_enum' : 'validation_type';
    case 'invalid_format':
      return issue.format === 'guid' ? 'validation_uuid' : 'validation_type';
    case 'not_multiple_of':
    case 'unrecognized_keys':
    case 'invalid_union':
    case 'invalid_key':
    case 'invalid_element':
    case 'custom':
      return 'validation_type';
  }
}

function problemOf(issue: z.core.$ZodIssue): Problem {
  const field = issue.path.join('.');
  if (!isValidationCode(issue.message))
    return { field, issue: issue.message, message: `${field || 'the body'} ${issue.message}` };
  return problem(field, issue.message, detailOf(issue));
}

function isValidationCode(text: string): text is ValidationCode {
  return Object.hasOwn(messages, text);
}

/** What zod knows beyond the code: the limit, the allowed values, the actual input. */
function detailOf(issue: z.core.$ZodIssue): string | undefined {
  if (issue.code === 'too_small') return limitOf('at least', issue.minimum, issue.origin);
  if (issue.code === 'too_big') return limitOf('at most', issue.maximum, issue.origin);
  if (
    issue.code === 'invalid_value' &&
    (issue.message === 'validation_enum' || issue.message === 'validation_event_type')
  )
    return `must be one of ${issue.values.join(', ')}`;
  // A query parameter that is given twice arrives as a list.
  const isText =
    issue.code === 'invalid_value' || ('expected' in issue && issue.expected === 'string');
  if (isText && Array.isArray(issue.input)) return 'must be given once, as a single value';
  return undefined;
}

const units: Readonly<Record<string, readonly [one: string, many: string]>> = {
  string: ['character', 'characters'],
  array: ['entry', 'entries'],
};

function limitOf(bound: string, limit: number | bigint, origin: string): string {
  const unit = units[origin]?.[limit === 1 ? 0 : 1];
  return unit === undefined ? `must be ${bound} ${limit}` : `must have ${bound} ${limit} ${unit}`;
}
