/** The fields that several requests share, with their formats and limits (rules party-input-1 to party-input-10). */
import { bankAccountSubTypes, entityTypes } from '@pis/domain';
import { z } from 'zod';
import { unsupportedCharacters, type ValidationCode } from './validation.js';

/** PostgreSQL's text can hold neither. Such a value would stop the projections. */
const storable = z.refine<string>(
  (value) => !value.includes('\0') && value.isWellFormed(),
  unsupportedCharacters,
);

/** Lengths are counted in characters (code points), as a person and JSON Schema count them. */
export function text(min: number, max: number) {
  return z
    .string()
    .check(storable, lengthWithin(min, max))
    .meta({ minLength: min, maxLength: max, pattern: '^[^\\u0000]*$' });
}

/** What is not white space, somewhere, and no NUL. To some dialects U+FEFF is no white space. */
const notBlank = '^[^\\u0000]*[^\\s\\ufeff\\u0000][^\\u0000]*$';

/** A name: without surrounding white space. */
export function name(max: number) {
  return z
    .string()
    .trim()
    .check(storable, lengthWithin(1, max))
    .meta({ minLength: 1, maxLength: max, pattern: notBlank });
}

/** Any UUID, in lower case: one record has one spelling, and so one stream. */
export const uuid = z.guid().toLowerCase();

/** Null equals absent. */
export function optional<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullish().transform((value) => value ?? null);
}

export const entityType = z.enum(entityTypes);

const emailLengthMax = 254;
/** Dot-atoms before the @ (RFC 5322, 3.2.3), at least two labels of a host name behind it. */
const emailFormat =
  /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*@(?:[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?\.)+[a-z](?:[a-z\d-]{0,61}[a-z\d])$/i;
export const email = z
  .string()
  .trim()
  .check(lengthWithin(0, emailLengthMax), format(emailFormat, 'validation_email'))
  .meta({ format: 'email', maxLength: emailLengthMax });

/** E.164: a plus sign, a country code that does not begin with zero, 7 to 15 digits in all. */
export const phoneNumber = formatted(/^\+[1-9]\d{6,14}$/, 'validation_phone_number');

export const bankAccount = z.object({
  subType: z.enum(bankAccountSubTypes),
  achRoutingNumber: z
    .string()
    .trim()
    .refine(isRoutingNumber, 'validation_routing_number')
    .meta({ pattern: '^[0-9]{9}$', format: 'aba-routing-number' }),
  achAccountNumber: formatted(/^\d{4,17}$/, 'validation_account_number'),
  // ISO 9362:2022: business party prefix, country, business party suffix, optional branch.
  swiftCode: optional(
    upperCased(/^[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}([A-Z0-9]{3})?$/, 'validation_swift_code'),
  ),
});
export type BankAccountRequest = z.output<typeof bankAccount>;

const addressLineMax = 200;
const placeMax = 100;
const postalCodeMax = 20;

/** All five fields or none. The US rules hold for the US alone. */
export const legalAddress = z
  .object({
    addressLine1: name(addressLineMax),
    city: name(placeMax),
    state: name(placeMax),
    postalCode: name(postalCodeMax),
    countryCode: upperCased(/^[A-Z]{2}$/, 'validation_country_code'),
  })
  .superRefine(
    (address, context) => {
      if (address.countryCode !== 'US') return;
      const report = (field: string, message: ValidationCode) =>
        context.addIssue({ code: 'custom', path: [field], message, input: address });
      if (isFilled(address.state) && !/^[A-Za-z]{2}$/.test(address.state))
        report('state', 'validation_state');
      if (isFilled(address.postalCode) && !/^\d{5}$/.test(address.postalCode))
        report('postalCode', 'validation_postal_code');
    },
    { when: isObject },
  )
  .transform((address) =>
    address.countryCode === 'US' ? { ...address, state: address.state.toUpperCase() } : address,
  )
  // Not if/then: generators of code and of data understand alternatives better.
  .meta({
    anyOf: [
      {
        title: 'In the US',
        properties: {
          countryCode: { const: 'US' },
          state: { pattern: '^[A-Za-z]{2}$' },
          postalCode: { pattern: '^[0-9]{5}$' },
        },
      },
      { title: 'Elsewhere', properties: { countryCode: { not: { const: 'US' } } } },
    ],
  });

/** Runs a rule over several fields even if one of them is wrong, to report all problems at once. */
export function isObject(payload: { readonly value: unknown }): boolean {
  return typeof payload.value === 'object' && payload.value !== null;
}

/** Whether another rule has not already found the field missing, empty or of the wrong type. */
function isFilled(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

/** Nine digits whose weighted sum (3, 7, 1) is a multiple of ten (ABA routing number policy). */
function isRoutingNumber(digits: string): boolean {
  if (!/^\d{9}$/.test(digits)) return false;
  const weights = [3, 7, 1];
  const sum = [...digits].reduce((total, d, at) => total + Number(d) * (weights[at % 3] ?? 0), 0);
  return sum > 0 && sum % 10 === 0;
}

/** Text of one format; a schema shows the pattern too. */
function formatted(pattern: RegExp, code: ValidationCode) {
  return z.string().trim().check(format(pattern, code)).meta({ pattern: pattern.source });
}

/** Accepted in upper or lower case once it has the format: "ß" in upper case would be two letters. */
function upperCased(pattern: RegExp, code: ValidationCode) {
  const inAnyCase = format(new RegExp(pattern.source, 'i'), code);
  return z.string().trim().check(inAnyCase).toUpperCase().meta({ pattern: pattern.source });
}

function format(pattern: RegExp, code: ValidationCode) {
  return z.refine<string>((value) => pattern.test(value), code);
}

function lengthWithin(min: number, max: number): z.core.CheckFn<string> {
  return ({ value, issues }) => {
    // An UTF-16 length within the limit is enough; only a longer text has to be counted.
    const length = value.length <= max ? value.length : [...value].length;
    const found = { origin: 'string', input: value, inclusive: true, continue: true } as const;
    if (length < min) issues.push({ ...found, code: 'too_small', minimum: min });
    if (length > max) issues.push({ ...found, code: 'too_big', maximum: max });
  };
}
