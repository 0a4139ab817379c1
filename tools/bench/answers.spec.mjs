import { once } from 'node:events';
import { createServer } from 'node:http';
import { allWith } from './answers.mjs';
import { measure } from './processes.mjs';

it.each([
  ['with requests that were refused', { 201: 9, 503: 1 }],
  ['of which all requests were refused', { 503: 1 }],
  ['without an answer', {}],
])('a load %s gives no figure', (_, statuses) => {
  expect(() => allWith(201, { statuses })).toThrow(
    `not all answers are 201: ${JSON.stringify(statuses)}`,
  );
});

it('a load on a server counts what it was answered', async () => {
  const server = createServer((_, response) => response.writeHead(503).end());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const load = {
    ...{ origin: `http://127.0.0.1:${server.address().port}`, method: 'POST', path: '/' },
    ...{ headers: {}, body: '{}', connections: 2, warmupSeconds: 0 },
  };
  // A busy machine may have no answer in a short time.
  const figures = async (seconds) => {
    const result = await measure('http-load.mjs', { ...load, seconds });
    return result.statuses[503] > 0 ? { ...result, seconds } : figures(seconds * 2);
  };
  try {
    const { perSecond, statuses, seconds } = await figures(0.25);
    expect(statuses).toEqual({ 503: perSecond * seconds });
    expect(allWith(503, { statuses })).toEqual({ statuses });
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
});
