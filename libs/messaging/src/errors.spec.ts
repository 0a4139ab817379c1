import { errorText } from './errors.js';

it('an error of a handler becomes one bounded line without NUL', () => {
  const coded = Object.assign(new Error('a\0b'), { code: '23505' });
  expect(errorText(coded)).toBe('Error (23505): ab');
  expect(errorText(new Error('x'.repeat(5_000)))).toHaveLength(1_000);
  expect(errorText({ status: 'error', message: 'Internal' })).toBe('Error: Internal');
});
