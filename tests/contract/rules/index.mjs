/**
 * What proves the rules that no contract test proves on its own. The rules themselves are in
 * docs/specification.md and docs/api-decisions.md: each anchor `<a id="payment-7"></a>` is a rule. The
 * title of a contract test begins with the ID of the rule that it proves. A rule without such a test
 * must be in one of these three tables.
 */
import { elsewhere } from './elsewhere.mjs';
import { open } from './open.mjs';
import { running } from './running.mjs';
import { sameAs } from './same-as.mjs';

/** Tests outside the contract suite, by rule: a list of `[file, title]`. */
export const tests = { ...elsewhere, ...running };

/** The rule that says the same in another place, by rule. */
export { sameAs };

/** Rules that are not proven, with the reason: `{ because, rules }`. */
export { open };
