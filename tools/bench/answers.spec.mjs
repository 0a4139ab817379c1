import { once } from 'node:events';
import { createServer } from 'node:http';
import { answered } from './answers.mjs';

/** A load on a server that refuses every tenth request. */
async function loadOn(status) {
  let asked = 0;
  const server = createServer((_, response) => {
    asked += 1;
    response.writeHead(asked % 10 === 0 ? 503 : status).end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const load = {
    ...{ origin: `http://127.0.0.1:${server.address().port}`, method: 'POST', path: '/' },
    ...{ headers: {}, body: '{}', connections: 2, seconds: 0.5, warmupSeconds: 0 },
  };
  return { load, close: () => new Promise((resolve) => server.close(resolve)) };
}

it('a load with requests that were refused gives no figure', async () => {
  const { load, close } = await loadOn(201);
  try {
    await expect(answered(201, load)).rejects.toThrow(/not all answers are 201: .*"503":/);
  } finally {
    await close();
  }
});

it('a load whose requests were all answered as they should be gives its figures', async () => {
  const { load, close } = await loadOn(503);
  try {
    const { perSecond, statuses } = await answered(503, load);
    expect(perSecond).toBe(statuses[503] / load.seconds);
  } finally {
    await close();
  }
});
