/**
 * The form of a link's page: its fields, what a browser sent, and what is wrong with it. Account numbers are never
 * shown again, so a page that reports problems does not hold them.
 */
import { type LinkSubmission, linkSubmissionSchema, type Problem, validate } from '@pis/contracts';

export const fieldNames = [
  'subType',
  'achRoutingNumber',
  'achAccountNumber',
  'achAccountNumberConfirmation',
  'addressLine1',
  'city',
  'state',
  'postalCode',
  'countryCode',
] as const;
export type FieldName = (typeof fieldNames)[number];

/** What the form shows again. */
export type FormValues = Readonly<Partial<Record<FieldName, string>>>;

/** Of one field; the first problem counts. `issue` is the API's code where the API has one. */
export interface FieldProblem {
  readonly field: FieldName;
  readonly issue: string;
}

export type ReadForm =
  | { readonly ok: true; readonly submission: LinkSubmission }
  | { readonly ok: false; readonly problems: readonly FieldProblem[] };

export const accountNumberMismatch = 'account_number_mismatch';

const secretFields: readonly FieldName[] = ['achAccountNumber', 'achAccountNumberConfirmation'];
/** As people write them: 021-000-021, 12 3456 789. */
const groupedFields: readonly FieldName[] = ['achRoutingNumber', ...secretFields];
/** A longer text is no value of any field. It is cut off, which no field accepts. */
const lengthMax = 500;

export function valuesOf(body: URLSearchParams): FormValues {
  const values: Partial<Record<FieldName, string>> = {};
  for (const field of fieldNames) {
    const given = (body.get(field) ?? '').trim();
    const text = groupedFields.includes(field) ? given.replace(/[\s-]/g, '') : given;
    if (text !== '') values[field] = text.slice(0, lengthMax);
  }
  return values;
}

export function withoutSecrets(values: FormValues): FormValues {
  return Object.fromEntries(
    Object.entries(values).filter(([field]) => !secretFields.includes(field as FieldName)),
  );
}

/** All problems at once, one for each field, in the order of the form. */
export function readForm(values: FormValues): ReadForm {
  const { subType, achRoutingNumber, achAccountNumber, achAccountNumberConfirmation } = values;
  const { addressLine1, city, state, postalCode, countryCode } = values;
  const legalAddress = { addressLine1, city, state, postalCode, countryCode };
  const given = { subType, achRoutingNumber, achAccountNumber, legalAddress };
  const checked = validate(linkSubmissionSchema, given);
  const problems = checked.ok ? [] : fieldProblems(checked.problems);
  if (achAccountNumberConfirmation !== achAccountNumber)
    problems.push({
      field: 'achAccountNumberConfirmation',
      issue:
        achAccountNumberConfirmation === undefined ? 'validation_required' : accountNumberMismatch,
    });
  else if (achAccountNumberConfirmation === undefined)
    problems.push({ field: 'achAccountNumberConfirmation', issue: 'validation_required' });
  if (checked.ok && problems.length === 0) return { ok: true, submission: checked.value };
  return { ok: false, problems: inOrder(problems) };
}

/** The API's problems at the fields of the form. */
export function fieldProblems(problems: readonly Problem[]): FieldProblem[] {
  return problems.flatMap(({ field: path, issue }) => {
    const name = path.split('.').at(-1);
    const field = fieldNames.find((known) => known === name);
    return field === undefined ? [] : [{ field, issue }];
  });
}

export function inOrder(problems: readonly FieldProblem[]): readonly FieldProblem[] {
  return fieldNames.flatMap((name) => problems.find(({ field }) => field === name) ?? []);
}
