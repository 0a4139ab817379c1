/** Verifying the log: `pis audit verify`. */
export { type CheckpointNote, readCheckpointNote } from './checkpoint-note.js';
export type { Finding, KnownCheckpoint } from './log-audit.js';
export { type LogSource, portLog, postgresLog } from './log-source.js';
export { signedCheckpoints } from './signed-checkpoints.js';
export { AuditStateFile, AuditStateUnusable } from './state-file.js';
export { findingsMax, verifyLog, type VerifyOptions, type VerifyReport } from './verify-log.js';
