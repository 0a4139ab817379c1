import { endedWhileStarting } from './kafka.js';

it('recognizes a taken port, however much the broker logs after it', () => {
  const shutdown = 'INFO Shutdown completed\n'.repeat(1_000);
  const ordinary = endedWhileStarting(`ERROR no space left\n${shutdown}`);
  const taken = endedWhileStarting(`ERROR failed to bind: Address already in use\n${shutdown}`);
  expect(ordinary.constructor.name).toBe('Error');
  expect(taken.constructor.name).toBe('PortTaken');
  expect(taken.message.length).toBeLessThan(3_000);
});
