/** Dashboard users: their use cases, and how they sign in. */
export { failuresMax } from './credentials.js';
export { HashingBusy, type PasswordRefusal, Passwords } from './passwords.js';
export { type CountedAttempt, SignInFailures } from './sign-in-failures.js';
export { idleMs, sessionMs } from './sessions.js';
export * from './sign-in.js';
export { totpUri } from './totp.js';
export { type ActionOfUser, recordUserAction } from './user-actions.js';
export { type ErasedUser, eraseUser, type UserErasureRefusal } from './user-erasure.js';
export {
  passwordRule,
  type TotpRefusal,
  type UserChangeRefusal,
  type UserCreationRefusal,
  type UserRef,
  Users,
  type UsersOptions,
  type UserView,
} from './users.js';
