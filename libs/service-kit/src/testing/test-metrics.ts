import { Registry } from 'prom-client';

/** For the token METRICS of apps that a test puts together itself. */
export function testMetrics(): Registry {
  return new Registry();
}
