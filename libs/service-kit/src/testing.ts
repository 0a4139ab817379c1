export { startOnTestPlatform, type TestPlatform } from './testing/test-platform.js';
export { testMetrics } from './testing/test-metrics.js';
