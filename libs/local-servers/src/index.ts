export * from './free-port.js';
export * from './kafka.js';
export { KafkaUnavailable } from './kafka-jars.js';
export * from './postgres.js';
export * from './s3.js';
export { LockHeld, takeLock } from '../plain/owner-lock.mjs';
