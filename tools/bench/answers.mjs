/** What a load was answered with: a request that was refused is no figure. */
import { measure } from './processes.mjs';

/** A load by http-load.mjs. @throws Error unless all its requests, and at least one, had this status */
export async function answered(status, load) {
  return allWith(status, await measure('http-load.mjs', load));
}

/** @param result of http-load.mjs. @throws as `answered` */
export function allWith(status, result) {
  const { [status]: expected = 0, ...others } = result.statuses;
  if (expected === 0 || Object.keys(others).length > 0)
    throw new Error(`not all answers are ${status}: ${JSON.stringify(result.statuses)}`);
  return result;
}
