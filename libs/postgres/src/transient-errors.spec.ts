import {
  isBrokenConnection,
  isConnectionLoss,
  isDataError,
  isQueryCanceled,
  isTransient,
  reasonOf,
  sqlStateOf,
} from './transient-errors.js';

const coded = (code: string | number, message = 'failed') =>
  Object.assign(new Error(message), { code });
const named = (name: string) => Object.assign(new Error('failed'), { name });

class Away extends Error {
  readonly isUnavailable: boolean = true;
}

describe('a transient error', () => {
  it.each([
    ['nothing listens', coded('ECONNREFUSED')],
    ['PostgreSQL is shutting down', coded('57P01')],
    ['PostgreSQL has too many connections', coded('53300')],
    ['PostgreSQL has a full disk', coded('53100')],
    ['PostgreSQL lost the connection', coded('08006')],
    ['two transactions met', coded('40P01')],
    ['a statement took too long', coded('57014')],
    ['a lock was not available', coded('55P03')],
    ['the server became a standby', coded('25006')],
    ['the process has no file descriptor free', coded('EMFILE')],
    ['the machine has no file descriptor free', coded('ENFILE')],
    ['the machine has no port free', coded('EADDRNOTAVAIL')],
    ['the machine has no memory free for a connection', coded('ENOBUFS')],
    ['the network is down', coded('ENETDOWN')],
    ['the name server failed', coded('EAI_FAIL')],
    ['pg lost the connection', new Error('Connection terminated unexpectedly')],
    ['the pool had no connection free', new Error('timeout exceeded when trying to connect')],
    ['pg waited too long for an answer', new Error('Query read timeout')],
    ['pg waited too long for a connection', new Error('timeout expired')],
    ['all addresses of a name refused', new AggregateError([coded('ECONNREFUSED')], '')],
    ['Prisma lost the connection', coded('P1017')],
    ['Prisma could not connect at all', Object.assign(new Error('failed'), { errorCode: 'P1001' })],
    ['undici could not connect', coded('UND_ERR_CONNECT_TIMEOUT')],
    ['the reason is a cause', new Error('wrapped', { cause: coded('ECONNRESET') })],
    [
      'the reason is in what Prisma keeps',
      Object.assign(coded('P2039'), {
        meta: { driverAdapterError: new Error('lost', { cause: { message: '', code: '57P01' } }) },
      }),
    ],
  ])('includes that the database cannot be reached: %s', (_, error) => {
    expect(isConnectionLoss(error)).toBe(true);
    expect(isTransient(error)).toBe(true);
  });

  it.each([
    ['a password is being changed', coded('28P01')],
    ['the database is being restored', coded('3D000')],
    ['the database takes no connections', coded('55000')],
    ['a disk cannot be read', coded('58030')],
    ['a session was idle for too long', coded('25P03')],
    ['a transaction took too long', coded('25P04')],
    ['a right was taken away', coded('42501')],
    ['the migrations are still to come', coded('42P01')],
    ['Prisma may not', coded('P1010')],
    ['a certificate has expired', coded('CERT_HAS_EXPIRED')],
    ['a certificate is for another host', coded('ERR_TLS_CERT_ALTNAME_INVALID')],
    ['a certificate is not trusted', coded('SELF_SIGNED_CERT_IN_CHAIN')],
    ['our own error says so', new Away('away')],
    ['our own error is a cause', new Error('wrapped', { cause: new Away('away') })],
  ])('includes that every client is refused, which is reported at boot: %s', (_, error) => {
    expect(isTransient(error)).toBe(true);
    expect(isConnectionLoss(error)).toBe(false);
  });

  it.each([
    ['a key exists already', coded('23505')],
    ['the statement is wrong', coded('42601')],
    ['a column is missing', coded('42703')],
    ['a value does not fit', coded('22P02')],
    ['our own code failed', new TypeError('undefined is not a function')],
    ['a text merely mentions a connection', new Error('the note says: Connection terminated')],
    ['a name merely sounds like it', named('StoreUnavailable')],
    ['our own error says that it is not', Object.assign(new Away('x'), { isUnavailable: false })],
    ['the code is a number', coded(8006)],
    ['it is no error at all', 'ECONNREFUSED'],
    ['it is nothing', undefined],
    ['its causes form a circle', circle()],
  ])('does not include that %s', (_, error) => {
    expect(isTransient(error)).toBe(false);
  });
});

describe('what PostgreSQL says', () => {
  it('distinguishes data that it never accepts from everything else', () => {
    expect(['22021', '23505', '54000'].map((code) => isDataError(coded(code)))).toEqual([
      true,
      true,
      true,
    ]);
    expect(['08006', '57014', '42601', '22'].map((code) => isDataError(coded(code)))).toEqual([
      false,
      false,
      false,
      false,
    ]);
  });

  it('has a SQLSTATE only if PostgreSQL said it', () => {
    expect(sqlStateOf(coded('55P03'))).toBe('55P03');
    expect(sqlStateOf(coded('EPIPE'))).toBe('');
    expect(sqlStateOf(new Error('lost'))).toBe('');
    expect(sqlStateOf(null)).toBe('');
  });

  it('may be queried again on a new connection when the old one broke', () => {
    expect(isBrokenConnection(coded('57P01'))).toBe(true);
    expect(isBrokenConnection(new Error('Connection terminated unexpectedly'))).toBe(true);
    expect(isBrokenConnection(coded('ECONNREFUSED'))).toBe(false);
    expect(isBrokenConnection(coded('23505', 'Connection terminated'))).toBe(false);
  });

  it('tells that a query was ended, also by the cause of our own error', () => {
    expect(isQueryCanceled(coded('57014'))).toBe(true);
    expect(isQueryCanceled(new Error('wrapped', { cause: coded('57014') }))).toBe(true);
    expect(isQueryCanceled(coded('57P01'))).toBe(false);
  });

  it('has a readable reason', () => {
    expect(reasonOf(coded('ECONNREFUSED', ''))).toBe('ECONNREFUSED');
    expect(reasonOf(new Error('lost'))).toBe('lost');
    expect(reasonOf(42)).toBe('42');
  });
});

function circle(): Error {
  const error = new Error('x');
  error.cause = error;
  return error;
}
