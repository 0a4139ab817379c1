/**
 * What a form says of a field that the server refused.
 *
 * The code of the problem decides, not the server's message. That message is for programs: it begins with the API's
 * name of the field, and states limits in cents. It is used only for rules without a code.
 */
import type { ValidationCode } from '@pis/dashboard/api';

export type IssueTexts = { readonly [Code in ValidationCode]?: string };

/** Complete: a new code of the API no longer compiles here. */
const issueTexts = {
  validation_required: 'Fill in this field.',
  validation_min_length: 'Fill in this field.',
  validation_max_length: 'This text is too long.',
  validation_min: 'This number is too small.',
  validation_max: 'This number is too large.',
  validation_integer: 'Enter a number.',
  validation_enum: 'Choose one of the values.',
  validation_uuid: 'Choose one of the list.',
  validation_url: 'Enter a URL such as https://example.com/webhooks.',
  validation_url_https: 'The URL must begin with https://.',
  validation_url_credentials: 'The URL must not contain a user name or password.',
  validation_url_private_address: 'This address is not on the public Internet.',
  validation_subscription_limit: 'Too many endpoints subscribe to one of these events.',
  validation_datetime: 'Enter a date.',
  validation_date_range: 'The end is before the start, or the start is in the future.',
  validation_type: 'Fill in this field.',
  validation_email: 'Enter an e-mail address, such as ada@example.com.',
  validation_phone_number: 'Enter the number with its country code, such as +12125550123.',
  validation_postal_code: 'Enter a ZIP code of five digits.',
  validation_state: 'Enter the two letters of the state, such as NY.',
  validation_country_code: 'Enter the two letters of the country, such as US.',
  validation_routing_number: 'This is not a routing number. Check its nine digits.',
  validation_account_number: 'Enter 4 to 17 digits.',
  validation_swift_code: 'Enter the 8 or 11 characters of the SWIFT code.',
  validation_cursor: 'This page of the list is not there anymore. Load the list again.',
  validation_event_type: 'Choose one of the events.',
  validation_contact_originator_mismatch: 'This contact belongs to another originator.',
  validation_contact_bank_account_required: 'This contact has no bank account.',
} as const satisfies Record<ValidationCode, string>;

interface Found {
  readonly field: string;
  /** A code, or a description if the rule has none. */
  readonly issue: string;
  readonly message?: string;
}

/** @param own the form's own words, before those of all forms */
export function issueText({ field, issue, message }: Found, own: IssueTexts = {}): string {
  if (isCode(issue)) return own[issue] ?? issueTexts[issue];
  return message === undefined ? 'This value is not accepted.' : sentence(message, field);
}

function isCode(issue: string): issue is ValidationCode {
  return Object.hasOwn(issueTexts, issue);
}

/** The rule alone: the reader sees which field it is about. */
function sentence(message: string, field: string): string {
  const rule = message.startsWith(`${field} `) ? message.slice(field.length + 1) : message;
  return `${rule.charAt(0).toUpperCase()}${rule.slice(1)}${rule.endsWith('.') ? '' : '.'}`;
}
