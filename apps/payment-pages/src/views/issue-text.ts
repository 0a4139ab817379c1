import { accountNumberMismatch } from '../bank-details-form.js';
import type { Texts } from '../texts/texts.js';

/** What a person reads for a problem of a field. */
export function issueText(issue: string, { issues }: Texts): string {
  switch (issue) {
    case 'validation_required':
    case 'validation_min_length':
      return issues.required;
    case accountNumberMismatch:
      return issues.accountNumberMismatch;
    default:
      return issues.byCode[issue] ?? issues.other;
  }
}
