import { statement, type StatementRecord } from './statement.js';

const none = { count: 0, amountMinor: 0 };
const open = { inProgressIn: none, inProgressOut: none, feesDueMinor: 0 };
const record: StatementRecord = {
  statementId: '6a0e0f43-7f04-5f3e-9f0d-1d7cf7b0b101',
  organizationId: '6a0e0f43-7f04-4f3e-9f0d-1d7cf7b0b102',
  originatorId: '6a0e0f43-7f04-4f3e-9f0d-1d7cf7b0b103',
  periodYear: 2026,
  periodMonth: 10,
  timeZone: 'America/New_York',
  to: '2026-11-01T04:00:00.000Z',
  through: '0000000000000042',
  after: { to: '2026-10-01T04:00:00.000Z', through: '0000000000000017' },
  sha256: 'a'.repeat(64),
  sizeBytes: 12_345,
  figures: {
    ...{ opening: open, closing: open, paymentsIn: none, paymentsOut: none },
    ...{ withoutMovement: none, returnsIn: none, returnsOut: none },
    ...{ collections: none, collectionReturns: none, fees: none },
  },
};
const at = '2026-11-01T05:00:00.000Z';
const command = { type: 'RecordStatement', at, data: record } as const;

it('records a statement once', () => {
  const events = [{ type: 'StatementGenerated', at, data: record }] as const;
  expect(statement.decide(command, statement.initial)).toEqual(events);
  const state = statement.evolve(statement.initial, events[0]);
  expect(state).toEqual({ ...record, generatedAt: at });
  expect(statement.decide(command, state)).toEqual({ refused: 'STATEMENT_EXISTS' });
});

it('reads a statement of version 1 as one of its whole month, as far as the log went then', () => {
  const { to: _to, after: _after, ...first } = record;
  expect(statement.upcast?.('StatementGenerated', 1, first)).toEqual({
    ...record,
    after: { to: '2026-10-01T04:00:00.000Z', through: record.through },
  });
});
