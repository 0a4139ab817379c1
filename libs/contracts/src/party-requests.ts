/** Requests on contacts and originators (rules contact-create-1 to -9, party-input-1 to -14). */
import { type EntityType, entityTypes } from '@pis/domain';
import { z } from 'zod';
import type { Problem } from './error-codes.js';
import {
  bankAccount,
  email,
  entityType,
  isObject,
  legalAddress,
  name,
  optional,
  phoneNumber,
  uuid,
} from './fields.js';
import { asOf } from './instant.js';
import { problem, validate, type Validated } from './validation.js';

const personNameMax = 100;
const companyNameMax = 200;

/** The names that an entity type requires. */
const requiredNames = {
  INDIVIDUAL: ['firstName', 'lastName'],
  BUSINESS: ['companyName'],
} as const satisfies Record<EntityType, readonly string[]>;

const profile = {
  entityType,
  firstName: optional(name(personNameMax)),
  lastName: optional(name(personNameMax)),
  companyName: optional(name(companyNameMax)),
  email,
  phoneNumber: optional(phoneNumber),
  legalAddress: optional(legalAddress),
};

interface Named {
  readonly entityType: EntityType;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly companyName: string | null;
}

/** The names that the entity type needs; a company name of a person is dropped (rules party-2 to party-4). */
function named<Schema extends z.ZodType<Named>>(schema: Schema) {
  return schema
    .superRefine(
      (party, context) => {
        for (const field of namesRequired(party.entityType))
          if (party[field] === null)
            context.addIssue({
              code: 'custom',
              path: [field],
              message: 'validation_required',
              input: party,
            });
      },
      { when: isObject },
    )
    .transform((party) =>
      party.entityType === 'INDIVIDUAL' ? { ...party, companyName: null } : party,
    )
    .meta({ oneOf: Object.entries(requiredNames).map(alternative) });
}

/** The same rule in JSON Schema: one alternative an entity type. */
function alternative([type, names]: [string, readonly string[]]) {
  const texts = Object.fromEntries(names.map((field) => [field, { type: 'string' }]));
  return { title: type, properties: { entityType: { const: type }, ...texts }, required: names };
}

/** None when the entity type itself is wrong, because that is reported already. */
function namesRequired(type: EntityType): readonly (keyof Named)[] {
  return entityTypes.includes(type) ? requiredNames[type] : [];
}

export const contactCreateSchema = named(
  z.object({ originatorId: uuid, ...profile, bankAccount: optional(bankAccount) }),
);
export type ContactCreateRequest = z.output<typeof contactCreateSchema>;

/** Who is asked for a bank account and is no saved contact: a name alone. */
const { firstName, lastName, companyName } = profile;
export const newRecipientSchema = named(z.object({ entityType, firstName, lastName, companyName }));

/** An operator's input. An originator always has a bank account. */
export const originatorCreateSchema = named(z.object({ ...profile, bankAccount }));
export type OriginatorCreateRequest = z.output<typeof originatorCreateSchema>;

const patch = {
  firstName: name(personNameMax).nullable().optional(),
  lastName: name(personNameMax).nullable().optional(),
  companyName: name(companyNameMax).nullable().optional(),
  email: email.optional(),
  phoneNumber: phoneNumber.nullable().optional(),
  legalAddress: legalAddress.nullable().optional(),
};

/** Absent stays as it is; null clears. An empty patch is valid and changes nothing. */
export const contactPatchSchema = z.object({
  ...patch,
  bankAccount: bankAccount.nullable().optional(),
});
export type ContactPatchRequest = z.output<typeof contactPatchSchema>;

export const originatorPatchSchema = z.object({ ...patch, bankAccount: bankAccount.optional() });
export type OriginatorPatchRequest = z.output<typeof originatorPatchSchema>;

/**
 * Which names may be cleared depends on the record. `current` is its entity type, or null when there is no
 * such record and only the other fields can be checked.
 */
export function validatePatch<Patch extends ContactPatchRequest>(
  schema: z.ZodType<Patch>,
  input: unknown,
  current: EntityType | null,
): Validated<Patch> {
  const result = validate(schema, input);
  const cleared = current === null ? [] : clearedNames(input, current);
  if (cleared.length > 0)
    return { ok: false, problems: [...(result.ok ? [] : result.problems), ...cleared] };
  return result;
}

function clearedNames(input: unknown, current: EntityType): readonly Problem[] {
  if (typeof input !== 'object' || input === null) return [];
  const fields = input as Readonly<Record<string, unknown>>;
  return requiredNames[current]
    .filter((field) => fields[field] === null)
    .map((field) => problem(field, 'validation_required'));
}

const directoryPageMax = 100;

/** A query parameter that holds a whole number. */
export function wholeNumber(min: number, max: number) {
  return z
    .string()
    .regex(/^[+-]?\d+$/, 'validation_integer')
    .transform(Number)
    .pipe(z.number().min(min).max(max))
    .meta({ type: 'integer', minimum: min, maximum: max, pattern: undefined });
}

/** Opaque: the list itself checks it. */
export const cursor = z.string().meta({ minLength: 1 }).optional();

/** Without `limit` and `cursor` the list is not paged: everything, newest first. */
export const originatorListSchema = z.object({
  limit: wholeNumber(1, directoryPageMax).optional(),
  cursor,
});
export const contactListSchema = originatorListSchema.extend({ originatorId: uuid.optional() });
/** As the API takes them: also as of a time. */
export const originatorReadSchema = originatorListSchema.extend({ asOf });
export const contactReadSchema = contactListSchema.extend({ asOf });
export type OriginatorReadQuery = z.output<typeof originatorReadSchema>;
export type ContactReadQuery = z.output<typeof contactReadSchema>;
export type OriginatorListQuery = z.output<typeof originatorListSchema>;
export type ContactListQuery = z.output<typeof contactListSchema>;
/** The filters of the list. All that are given must hold. */
export type ContactFilter = Omit<ContactListQuery, 'limit' | 'cursor'>;
