import { isTransient as isBrokerTransient } from '@pis/messaging';
import { isTransient as isDatabaseTransient } from '@pis/read-models';

const withCode = (code: string) => Object.assign(new Error('failed'), { code });

describe('what a database that is away looks like', () => {
  // A consumer parks a message for what a list answers 500 for, and waits where a list answers 503.
  it('is the same to the consumers and to the lists', () => {
    const states = [
      ...['08006', '28P01', '28000', '3D000', '40001', '40P01', '53300', '53100', '57014', '57P01'],
      ...['58030', '25006', '25P03', '42501', '42P01', '55P03'],
      ...['22P02', '23505', '42601', '42703', '54000', '25001', '0A000', 'XX000'],
    ];
    const sockets = [
      ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH'],
      ...['ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN', 'ENOENT', 'EACCES'],
    ];
    const ofPrisma = [
      ...['P1000', 'P1001', 'P1002', 'P1003', 'P1008', 'P1010', 'P1011', 'P1017', 'P2024'],
      ...['P2002', 'P2025'],
    ];
    for (const code of [...states, ...sockets, ...ofPrisma])
      expect([code, isDatabaseTransient(withCode(code))]).toEqual([
        code,
        isBrokerTransient(withCode(code)),
      ]);
    for (const message of [
      'Connection terminated unexpectedly',
      'timeout exceeded when trying to connect',
      'Client has encountered a connection error and is not queryable',
      'Query read timeout',
      'syntax error',
    ])
      expect([message, isDatabaseTransient(new Error(message))]).toEqual([
        message,
        isBrokerTransient(new Error(message)),
      ]);
  });
});
