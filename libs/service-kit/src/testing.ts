export { startOnTestPlatform, type TestPlatform } from './testing/test-platform.js';
