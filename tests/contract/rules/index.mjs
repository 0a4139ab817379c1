/**
 * Every rule of the documents, and every sentence that is none, with the reason. Two things only the
 * conformance tool needs to know: what cannot be seen in this release, and where a rule that no
 * client can see over HTTP is tested instead.
 */
import { decisions } from './decisions.mjs';
import { endpoints } from './endpoints.mjs';
import { errorsAndLimits } from './errors-and-limits.mjs';
import { events } from './events.mjs';
import { resources } from './resources.mjs';
import { states } from './states.mjs';

export const parts = [
  ...resources,
  ...states,
  ...endpoints,
  ...events,
  ...errorsAndLimits,
  ...decisions,
];
