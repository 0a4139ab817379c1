/** Gateways that differ in one setting, measured in turns: a ratio within a round is that of the setting. */
import { startApp } from './processes.mjs';
import { appSettings } from './with-postgres.mjs';

/** One gateway for each entry of `settings`, with the settings that they share. */
export async function startGateways(place, settings) {
  const shared = appSettings(place);
  const gateways = {};
  for (const [name, setting] of Object.entries(settings)) {
    gateways[name] = await startApp('api-gateway', { ...shared, ...setting });
    place.undo.push(() => gateways[name].stop());
  }
  return gateways;
}

/**
 * What `measureOne(gateway, name)` tells of each, in each round. A first round, which is not counted, warms up
 * connections and code. Who begins changes with each round.
 */
export async function measureRounds(gateways, rounds, measureOne) {
  const done = [];
  const names = Object.keys(gateways);
  for (let round = 0; round <= rounds; round += 1) {
    const measured = {};
    for (const name of round % 2 === 0 ? names : names.toReversed())
      measured[name] = await measureOne(gateways[name], name);
    if (round > 0) done.push(measured);
  }
  return done;
}
