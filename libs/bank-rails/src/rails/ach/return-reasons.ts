/** Which addenda record a return has. Source: Nacha Operating Rules, Appendix Four. */
import type { ReturnAddenda } from './nacha-file.js';

/** The form of the addenda record 99 follows from the reason. */
export function returnKindOf(reason: string | null): ReturnAddenda['kind'] {
  if (reason === null) return 'return';
  if (reason >= 'R61' && reason <= 'R70') return 'dishonored';
  if (reason >= 'R71' && reason <= 'R77') return 'contested';
  return 'return';
}
