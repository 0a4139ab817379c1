import { freePorts } from './free-port.js';

it('free ports that are asked for together differ', async () => {
  const count = 200;
  expect(new Set(await freePorts(count)).size).toBe(count);
});
