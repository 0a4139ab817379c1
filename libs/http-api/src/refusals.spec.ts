import type { Refusal } from '@pis/domain';
import { granted } from './refusals.js';

describe('the result of a use case', () => {
  it('is returned if it was not refused', () => {
    const created = { paymentId: 'p1' };
    const result: typeof created | Refusal<'CONTACT_NOT_FOUND'> = created;
    expect(granted(result)).toBe(created);
  });

  it('becomes the error of the specification if it was refused', () => {
    const result = { refused: 'CONTACT_NOT_FOUND' } as
      | { paymentId: string }
      | Refusal<'CONTACT_NOT_FOUND'>;
    expect(() => granted(result)).toThrow(expect.objectContaining({ code: 'NOT_FOUND' }) as Error);
  });

  it('does not compile when a refusal has no answer', () => {
    const result = { refused: 'SOMETHING_NEW' } as { paymentId: string } | Refusal<'SOMETHING_NEW'>;
    // @ts-expect-error SOMETHING_NEW is not among the refusals that have an answer.
    expect(() => granted(result)).toThrow('unreachable');
  });
});
