import { errorText, isTransient, NonRetryable } from './errors.js';

const coded = (code: string | number, message = 'x') => Object.assign(new Error(message), { code });
const named = (name: string) => Object.assign(new Error('x'), { name });

describe('an error of a handler', () => {
  it.each([
    ['a refused connection', coded('ECONNREFUSED')],
    [
      'a refused connection, as Node reports several addresses',
      new AggregateError([coded('ECONNREFUSED')]),
    ],
    ['PostgreSQL shutting down', coded('57P01')],
    ['PostgreSQL losing a connection', coded('08006')],
    ['a connection that pg lost', new Error('Connection terminated unexpectedly')],
    ['a pool without a connection', new Error('timeout exceeded when trying to connect')],
    ['a password that PostgreSQL no longer takes', coded('28P01')],
    ['a database that is being moved', coded('3D000')],
    ['a right that was taken away', coded('42501')],
    ['a full disk', coded('53100')],
    ['a disk that cannot be read', coded('58030')],
    ['a statement that took too long', coded('57014')],
    ['a lock that was not to be had', coded('55P03')],
    ['a certificate that has expired', coded('CERT_HAS_EXPIRED')],
    ['a certificate of somebody else', coded('ERR_TLS_CERT_ALTNAME_INVALID')],
    ['a certificate that nobody vouches for', coded('SELF_SIGNED_CERT_IN_CHAIN')],
    ['Prisma refused by the database', coded('P1000')],
    ['the event store away', named('StoreUnavailable')],
    ['the broker away, as a cause', new Error('x', { cause: named('BrokerUnavailable') })],
  ])("is the dependency's fault: %s", (_name, error) => {
    expect(isTransient(error)).toBe(true);
  });

  it.each([
    ['a bug', new TypeError('x is undefined')],
    ['a constraint', coded('23505')],
    ["the handler's own verdict", new NonRetryable('x')],
    ['nothing at all', undefined],
    ['a text', 'ECONNREFUSED'],
    ['a circle of causes', circle()],
  ])("is the message's fault: %s", (_name, error) => {
    expect(isTransient(error)).toBe(false);
  });

  it('is written down on one bounded line without NUL', () => {
    expect(errorText(coded('23505', 'a\0b'))).toBe('Error (23505): ab');
    expect(errorText(new Error('x'.repeat(5_000)))).toHaveLength(1_000);
    expect(errorText({ status: 'error', message: 'Internal' })).toBe('Error: Internal');
  });
});

function circle(): Error {
  const error = new Error('x');
  error.cause = error;
  return error;
}
