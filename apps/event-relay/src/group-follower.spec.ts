import { closeAfterEach, until } from '@pis/local-servers/testing';
import { CheckpointMoved, type GroupProgress } from '@pis/messaging';
import { createLogger } from '@pis/service-kit';
import { GroupFollower } from './group-follower.js';

const atEnd = closeAfterEach();

const timeoutMs = 10_000;

const reachedAtOnce: GroupProgress = {
  ends: () => Promise.resolve(new Map([['t', new Map([[0, 1n]])]])),
  hasReached: () => Promise.resolve(true),
  close: () => Promise.resolve(),
};

it('records nothing while the topics are empty, because Kafka may have lost unhandled messages', async () => {
  const saved: string[] = [];
  let asked = 0;
  const follower = new GroupFollower({
    groups: ['webhook-dispatcher'],
    progress: {
      ends() {
        asked += 1;
        return Promise.resolve(new Map());
      },
      hasReached: () => Promise.resolve(true),
      close: () => Promise.resolve(),
    },
    published: () => Promise.resolve({ position: '10', eventId: null }),
    state: { saveCheckpoint: (_group, position) => Promise.resolve(void saved.push(position)) },
    logger: createLogger('test', 'silent'),
    everyMs: 1,
  });
  follower.start();
  await until(() => asked > 3 || saved.length > 0, { timeoutMs });
  await follower.stop();
  expect(saved).toEqual([]);
});

it('records a position only after the group has handled all messages up to there', async () => {
  let published = '10';
  let end = 5n;
  let committed = 3n;
  const saved: string[] = [];
  const partition = 0;
  const progress: GroupProgress = {
    ends: () => Promise.resolve(new Map([['t', new Map([[partition, end]])]])),
    hasReached: (_group, ends) =>
      Promise.resolve(committed >= (ends.get('t')?.get(partition) ?? 0n)),
    close: () => Promise.resolve(),
  };
  let asked = 0;
  const follower = new GroupFollower({
    groups: ['webhook-dispatcher'],
    progress: {
      ...progress,
      hasReached: (group, ends) => {
        asked += 1;
        return progress.hasReached(group, ends);
      },
    },
    published: () => Promise.resolve({ position: published, eventId: null }),
    state: { saveCheckpoint: (_group, position) => Promise.resolve(void saved.push(position)) },
    logger: createLogger('test', 'silent'),
    everyMs: 1,
  });
  atEnd(() => follower.stop());
  follower.start();
  await until(() => asked > 2, { timeoutMs });
  expect(saved).toEqual([]);
  // More is published while the group catches up. The ends at that time count.
  published = '20';
  end = 9n;
  committed = 5n;
  await until(() => saved.length === 1, { timeoutMs });
  expect(saved).toEqual(['10']);
  committed = 9n;
  await until(() => saved.length === 2, { timeoutMs });
  expect(saved).toEqual(['10', '20']);
});

it('records nothing while the relay has yet to go back after a restore', async () => {
  let isUnknown = true;
  let asked = 0;
  const saved: string[] = [];
  const follower = new GroupFollower({
    groups: ['webhook-dispatcher'],
    progress: reachedAtOnce,
    published: () => Promise.resolve({ position: '10', eventId: null }),
    isUnknown: () => {
      asked += 1;
      return Promise.resolve(isUnknown);
    },
    state: { saveCheckpoint: (_group, position) => Promise.resolve(void saved.push(position)) },
    logger: createLogger('test', 'silent'),
    everyMs: 1,
  });
  atEnd(() => follower.stop());
  follower.start();
  await until(() => asked > 4, { timeoutMs });
  expect(saved).toEqual([]);
  isUnknown = false;
  await until(() => saved.length === 1, { timeoutMs });
});

it('ends even if the broker never answers', async () => {
  let asked = false;
  const follower = new GroupFollower({
    groups: ['webhook-dispatcher'],
    progress: {
      ends: () => {
        asked = true;
        return new Promise(() => undefined);
      },
      hasReached: () => Promise.resolve(false),
      close: () => Promise.resolve(),
    },
    published: () => Promise.resolve({ position: '10', eventId: null }),
    state: { saveCheckpoint: () => Promise.resolve() },
    logger: createLogger('test', 'silent'),
  });
  atEnd(() => follower.stop());
  follower.start();
  await until(() => asked, { timeoutMs });
});

it('marks another place when the log has lost the event that a group has reached', async () => {
  const places = [
    { position: '10', eventId: 'lost' },
    { position: '9', eventId: 'kept' },
  ];
  let published = 0;
  const saved: unknown[] = [];
  const follower = new GroupFollower({
    groups: ['webhook-dispatcher'],
    progress: reachedAtOnce,
    published: () =>
      Promise.resolve(places[Math.min(published++, 1)] ?? { position: '', eventId: null }),
    state: {
      saveCheckpoint: async (group, position, eventId) => {
        if (eventId === 'lost') throw new CheckpointMoved(group);
        saved.push({ position, eventId });
      },
    },
    logger: createLogger('test', 'silent'),
    everyMs: 1,
  });
  follower.start();
  await until(() => saved.length > 0, { timeoutMs });
  await follower.stop();
  expect(saved).toEqual([{ position: '9', eventId: 'kept' }]);
});
