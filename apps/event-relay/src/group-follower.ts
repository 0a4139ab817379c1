/**
 * Records in the database how far the consumer groups on Kafka are, as positions in the event log, so that
 * the embedded broker can continue from there.
 *
 * What always holds: a group has handled every event up to the recorded position. It is recorded when the
 * group has committed all messages that the topics held after the relay had published up to there.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { CheckpointMoved, type ConsumerState, type GroupProgress } from '@pis/messaging';
import type { Logger } from '@pis/service-kit';

export interface GroupFollowerOptions {
  readonly groups: readonly string[];
  readonly progress: GroupProgress;
  /** How far the relay has published. */
  readonly published: () => Promise<LogPlace>;
  /** Whether the groups may have to read again what they have committed. Nothing is recorded then. Default: never. */
  readonly isUnknown?: () => Promise<boolean>;
  readonly state: Pick<ConsumerState, 'saveCheckpoint'>;
  readonly logger: Logger;
  readonly everyMs?: number;
}

interface LogPlace {
  readonly position: string;
  /** The id of the event there, if it is known. */
  readonly eventId: string | null;
}

interface Mark {
  readonly place: LogPlace;
  readonly ends: Awaited<ReturnType<GroupProgress['ends']>>;
}

const everyDefaultMs = 10_000;
const stopMaxMs = 2_000;

export class GroupFollower {
  private readonly stopping = new AbortController();
  private readonly marks = new Map<string, Mark>();
  private readonly noted = new Map<string, string>();
  private loop: Promise<void> = Promise.resolve();

  constructor(private readonly options: GroupFollowerOptions) {}

  start(): void {
    this.loop = this.run();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    // A broker that does not answer must not hold up the shutdown.
    const waiting = new AbortController();
    const { signal } = waiting;
    const ended = this.loop.then(() => this.options.progress.close());
    const limit = delay(stopMaxMs, undefined, { signal }).catch(() => undefined);
    await Promise.race([ended.catch(() => undefined), limit]);
    waiting.abort();
  }

  private async run(): Promise<void> {
    const { groups, logger, everyMs = everyDefaultMs } = this.options;
    const { signal } = this.stopping;
    while (!signal.aborted) {
      for (const group of groups)
        try {
          await this.follow(group);
        } catch (err) {
          // The broker or the database is unavailable, which others report. The next round tries again.
          logger.debug({ err, group }, 'the progress of a group was not noted');
        }
      await delay(everyMs, undefined, { signal }).catch(() => undefined);
    }
  }

  private async follow(group: string): Promise<void> {
    const { progress, published, state, isUnknown } = this.options;
    if ((await isUnknown?.()) === true) {
      this.marks.delete(group);
      return;
    }
    const mark = this.marks.get(group);
    if (mark === undefined) {
      // The order matters: all messages up to the position lie before the ends.
      const place = await published();
      if (place.position === this.noted.get(group)) return;
      const ends = await progress.ends();
      // Empty topics prove nothing: Kafka may have lost the messages.
      if (ends.size > 0) this.marks.set(group, { place, ends });
      return;
    }
    if (!(await progress.hasReached(group, mark.ends))) return;
    const { position, eventId } = mark.place;
    try {
      if (position !== '') await state.saveCheckpoint(group, position, eventId ?? undefined);
    } catch (error) {
      // The log has lost the event: another place must be marked.
      if (error instanceof CheckpointMoved) this.marks.delete(group);
      throw error;
    }
    this.noted.set(group, position);
    this.marks.delete(group);
  }
}
