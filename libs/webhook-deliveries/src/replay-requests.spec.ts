import type pg from 'pg';
import { replayRequests } from './replay-requests.js';

it('A replay of all time begins at the first moment that can be written, whatever the zone of the machine', async () => {
  const asked: unknown[] = [];
  const query = ({ values = [] }: { values?: unknown[] }) => {
    asked.push(...values);
    return Promise.resolve({ rows: [], command: 'COMMIT' });
  };
  const connect = () => Promise.resolve({ query, release: () => undefined });
  const times = [
    '0001-01-01T00:00:00.000Z',
    '9999-12-31T23:59:59.999Z',
    '2026-11-21T10:00:00.000Z',
  ];
  const [fromAt = '', toAt = '', requestedAt = ''] = times;
  await replayRequests({ connect } as unknown as pg.Pool).create({
    id: 'r',
    organizationId: 'o',
    endpointId: 'e',
    fromAt: new Date(fromAt),
    toAt: new Date(toAt),
    eventTypes: null,
    throughPosition: '1',
    requestedAt: new Date(requestedAt),
  });
  // A Date would be written by the driver, by the clock on the wall.
  expect(asked.filter((value) => value instanceof Date)).toEqual([]);
  expect(asked).toEqual(expect.arrayContaining(times));
});
