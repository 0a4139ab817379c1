/** Events of the log as public messages: the feed, past events, and the positions of readers. */
export * from './consumer-groups.js';
export * from './integration-feed.js';
export * from './log-places.js';
export * from './past-events.js';
export { filledTopics } from './public-facts.js';
export * from './relay-replay.js';
