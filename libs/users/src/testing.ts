/** For tests of signing in with one-time codes. */
export { totpCode, totpStepAt } from './totp.js';
