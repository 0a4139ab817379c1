import { HttpException } from '@nestjs/common';
import { errorCodes } from '@pis/contracts';
import { type RecordedEvent, UnreadableEvent, WrongExpectedRevision } from '@pis/event-store';
import { answerTo, ApiError } from './errors.js';

const problems = [{ field: 'email', issue: 'validation_required', message: 'email is required' }];

describe('An error', () => {
  it.each(errorCodes)('%s has details only if it is a VALIDATION_ERROR', (code) => {
    const { body } = answerTo(new ApiError(code, 'text', problems));
    expect('details' in body.error).toBe(code === 'VALIDATION_ERROR');
  });

  it('has an empty list of details if a VALIDATION_ERROR has none, as for a request that is not HTTP', () => {
    const { body } = answerTo(new ApiError('VALIDATION_ERROR', 'this is not valid HTTP'));
    expect(body.error.details).toEqual([]);
  });

  const conflict = new WrongExpectedRevision('payment-1', 0, 1);
  it.each([
    ['a conflict that remained after all tries', conflict],
    ['an event of a newer release', new UnreadableEvent({} as RecordedEvent, 'too new')],
    ['a conflict in an exception of Nest', new HttpException('failed', 500, { cause: conflict })],
  ])('is answered 503 when it is %s', (_, error) => {
    expect(answerTo(error)).toMatchObject({
      status: 503,
      headers: { 'Retry-After': '1' },
      body: { error: { code: 'SERVICE_UNAVAILABLE' } },
    });
  });

  it.each(['WrongExpectedRevision', 'UnreadableEvent'])(
    'is answered 500 when only its name is %s',
    (name) => {
      expect(answerTo(Object.assign(new Error('failed'), { name })).status).toBe(500);
    },
  );
});
