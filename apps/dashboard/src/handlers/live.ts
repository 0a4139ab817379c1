/** Live updates. */
import type { LiveStreams } from '../live/live-streams.js';
import type { liveOperations } from '../operations/live.js';
import type { Handlers } from '../routes.js';

export function liveHandlers(streams: LiveStreams): Handlers<keyof typeof liveOperations> {
  return {
    live({ organizationId, user, token, reply }) {
      const answer = streams.open({ organizationId, userId: user.userId, token });
      // Proxies that collect an answer before they pass it on would hold the events back.
      reply.type('text/event-stream').header('X-Accel-Buffering', 'no');
      return answer;
    },
  };
}
