/** Live updates. */
import { op } from '../operation.js';

export type { LiveChange } from '../live/live-feed.js';

export const liveOperations = {
  /**
   * Server-sent events: `payments` with an array of LiveChange, `approvals` when some were requested or decided, and
   * `refresh` when something may have been missed, also once at the beginning.
   */
  live: op<never>()({
    ...{ method: 'GET', path: '/live', role: 'viewer' },
    ...{ isStream: true, isOfPage: true },
  }),
} as const;
