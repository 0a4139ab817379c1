import { StoreUnavailable } from '@pis/event-store';
import { isConnectionLoss, isTransient, orUnavailable, reasonOf } from './connection-loss.js';

const withCode = (code: string, message = 'failed') => Object.assign(new Error(message), { code });

describe('what the database says', () => {
  it.each([
    ['nothing listens', withCode('ECONNREFUSED')],
    ['it is shutting down', withCode('57P01')],
    ['it has too many connections', withCode('53300')],
    ['two transactions met', withCode('40P01')],
    ['the socket was closed', new Error('Connection terminated unexpectedly')],
    ['all addresses of a name refused', new AggregateError([withCode('ECONNREFUSED')], '')],
    ['Prisma lost it', withCode('P1017')],
    ['the reason is a cause', new Error('wrapped', { cause: withCode('ECONNRESET') })],
    [
      'the reason is in what Prisma keeps',
      Object.assign(withCode('P2039'), {
        meta: { driverAdapterError: new Error('lost', { cause: { message: '', code: '57P01' } }) },
      }),
    ],
  ])('is worth waiting for when %s', (_, error) => {
    expect(isConnectionLoss(error)).toBe(true);
    expect(isTransient(error)).toBe(true);
  });

  it.each([
    ['a key is there already', withCode('23505')],
    ['the statement is wrong', withCode('42601')],
    ['a value does not fit', withCode('22P02')],
    ['our own code failed', new TypeError('undefined is not a function')],
    ['it is no error at all', 'ECONNREFUSED'],
    ['it is nothing', undefined],
  ])('is not worth waiting for when %s', (_, error) => {
    expect(isTransient(error)).toBe(false);
  });

  it.each([
    ['its password is being changed', withCode('28P01')],
    ['it is being restored', withCode('3D000')],
    ['its disk fails', withCode('58030')],
    ['Prisma may not', withCode('P1010')],
  ])('is waited for, but not at boot, when %s', async (_, error) => {
    expect(isTransient(error)).toBe(true);
    expect(isConnectionLoss(error)).toBe(false);
    await expect(orUnavailable(() => Promise.reject(error))).rejects.toThrow(StoreUnavailable);
  });

  it('is waited for while the migrations or the event store are still to come', () => {
    expect(isTransient(withCode('42P01'))).toBe(true);
    expect(isConnectionLoss(withCode('42P01'))).toBe(false);
    expect(isTransient(new StoreUnavailable('away'))).toBe(true);
  });

  it('is put into words', () => {
    expect(reasonOf(withCode('ECONNREFUSED', ''))).toBe('ECONNREFUSED');
    expect(reasonOf(new Error('lost'))).toBe('lost');
    expect(reasonOf(42)).toBe('42');
  });
});
