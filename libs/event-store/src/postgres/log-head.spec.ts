/** The head of the log while polls answer late. */
import { until } from '@pis/local-servers/testing';
import { type Position, beginning } from '../port.js';
import { LogHead } from './log-head.js';

const timeoutMs = 10_000;
const at = (place: number): Position => String(place).padStart(20, '0');

describe('the known head of the log', () => {
  let polls: PromiseWithResolvers<Position>[];
  let head: LogHead;

  beforeEach(() => {
    polls = [];
    head = new LogHead({
      readHead: () => {
        const poll = Promise.withResolvers<Position>();
        polls.push(poll);
        return poll.promise;
      },
      intervalMs: () => 1,
    });
    head.start();
  });
  afterEach(() => {
    head.stop();
    for (const poll of polls) poll.resolve(beginning);
  });

  /** Answers the poll that is under way, and resolves when the next one is. */
  async function answer(position: Position): Promise<void> {
    const count = polls.length;
    polls.at(-1)?.resolve(position);
    await until(() => polls.length > count, { timeoutMs });
  }

  beforeEach(() => until(() => polls.length === 1, { timeoutMs }));

  it('wakes nobody for a poll that began before an append and answers after it', async () => {
    head.reached(at(7));
    const { rung } = head.bell;
    await answer(at(6));
    head.reached(at(7));
    await answer(at(7));
    expect(head.bell.rung).toBe(rung);
  });

  it('wakes for what a late poll has found beyond an append', async () => {
    head.reached(at(7));
    const { rung } = head.bell;
    await answer(at(8));
    expect(head.bell.rung).toBe(rung + 1);
  });

  it('follows a log that was restored from an older backup, and wakes for its next event', async () => {
    head.reached(at(7));
    await answer(at(7));
    await answer(at(4));
    const { rung } = head.bell;
    head.reached(at(5));
    expect(head.bell.rung).toBe(rung + 1);
  });

  it('wakes for any event after its position was forgotten, also when an older poll answers', async () => {
    head.reached(at(7));
    await answer(at(7));
    head.forget();
    await answer(at(7));
    const { rung } = head.bell;
    await answer(at(5));
    head.reached(at(6));
    expect(head.bell.rung).toBe(rung + 2);
  });
});
