/** ACH: NACHA files and what belongs to them. The gateway does not load this entry point. */
export * from './rails/ach/nacha-file.js';
export * from './rails/ach/nacha-text.js';
export * from './rails/ach/nacha-rules.js';
export * from './rails/ach/nacha-batches.js';
export * from './rails/ach/nacha-writer.js';
export { nachaProblemText, parseNachaFile } from './rails/ach/nacha-parser.js';
export type { ParsedNacha, ParseOptions } from './rails/ach/nacha-parser.js';
export type { NachaProblem } from './rails/ach/nacha-lines.js';
export * from './rails/ach/corrected-data.js';
export * from './rails/ach/prenote-connection.js';
export * from './rails/ach/return-reasons.js';
export * from './rails/ach/returned-entries.js';
export * from './rails/ach/ack-file.js';
export * from './rails/ach/ack-lines.js';
export { achBank, type AchBank, type AchBankOptions } from './rails/ach/ach-bank.js';
export { type AppliedAgain, applyAchFileAgain } from './rails/ach/ach-again.js';
export { achCountMax, achFigures, type AchFigures } from './rails/ach/ach-figures.js';
export { atOnceSchedule, type AchSchedule, cutoffSchedule } from './rails/ach/ach-schedule.js';
export { achName, individualIdOf } from './rails/ach/ach-entry.js';
export {
  amountOfAchEntry,
  isSameAchEntry,
  referencesOfAchEntry,
  settleAchEntry,
  voidAchEntries,
  waitingAchEntries,
  type WaitingEntry,
} from './rails/ach/ach-by-hand.js';
