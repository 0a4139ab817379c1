import { errorCodes } from '@pis/contracts';
import { answerTo, ApiError } from './errors.js';

const problems = [{ field: 'email', issue: 'validation_required', message: 'email is required' }];

describe('An error', () => {
  it.each(errorCodes)('%s has details only if it is a VALIDATION_ERROR', (code) => {
    const { body } = answerTo(new ApiError(code, 'text', problems));
    expect('details' in body.error).toBe(code === 'VALIDATION_ERROR');
  });
});
