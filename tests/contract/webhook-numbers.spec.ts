/**
 * The contract's numbers for deliveries are too long to wait for: here they are read from the defaults
 * that every process starts with. What is made of them is proved with shorter ones, beside this file.
 */
import { webhooksEnv } from '@pis/service-kit';
import { itOnOwn } from './support/target.js';

const secondsOf = (name: keyof typeof webhooksEnv) =>
  Number(webhooksEnv[name].parse(undefined)) / 1_000;
const hourSeconds = 3_600;

describe('Limits of deliveries', () => {
  itOnOwn('limit-7 gives a receiver 30 seconds to respond', async () => {
    expect(secondsOf('PIS_WEBHOOK_TIMEOUT_MS')).toBe(30);
  });

  itOnOwn(
    'limit-8 begins retries after 30 seconds, and never waits longer than an hour',
    async () => {
      expect(secondsOf('PIS_WEBHOOK_RETRY_INITIAL_MS')).toBe(30);
      expect(secondsOf('PIS_WEBHOOK_RETRY_MAX_MS')).toBe(hourSeconds);
    },
  );

  itOnOwn('limit-9 tries payment events for 72 hours', async () => {
    expect(secondsOf('PIS_WEBHOOK_RETRY_WINDOW_PAYMENTS_MS')).toBe(72 * hourSeconds);
  });

  itOnOwn('limit-10 tries statement events for 14 days', async () => {
    expect(secondsOf('PIS_WEBHOOK_RETRY_WINDOW_STATEMENTS_MS')).toBe(14 * 24 * hourSeconds);
  });
});
