/** A submission against a cancellation, and against the expiry, at the same instant: exactly one wins. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { unrefused } from '../use-case.js';
import { by, linkWorld, submission, visitor } from '../testing/link-world.js';

const pairs = 1_000;
const batch = 50;

it('of 1,000 pairs of a submission and a cancellation exactly one of each wins', async () => {
  const world = await linkWorld();
  const { links, organizationId } = world;
  const wins = { submitted: 0, canceled: 0 };
  for (let done = 0; done < pairs; done += batch)
    await Promise.all(
      Array.from({ length: batch }, async (_, index) => {
        const { token, paymentId } = await world.linked({ direction: 'OUTBOUND' });
        const submit = () => links.submit(token, submission, visitor);
        const cancel = () => links.cancel(organizationId, paymentId, by);
        // The store takes a turn for each call. Each begins ahead of the other by none to three of them.
        const laterBy = async (turns: number) => {
          for (let turn = 0; turn < turns; turn += 1) await nextTurn();
        };
        const [submitted, canceled] = await Promise.all([
          laterBy(index % 4).then(submit),
          laterBy(index % 3).then(cancel),
        ]);
        const hasSubmitted = !('refused' in submitted);
        const hasCanceled = !('refused' in canceled);
        expect(hasSubmitted).not.toBe(hasCanceled);
        const { status } = await world.stateOf(paymentId);
        expect(status).toBe(hasSubmitted ? 'QUEUED' : 'CANCELED');
        const events = await world.store.readStream(`payment-${paymentId}`);
        expect(events).toHaveLength(2);
        wins[hasSubmitted ? 'submitted' : 'canceled'] += 1;
      }),
    );
  expect(wins.submitted + wins.canceled).toBe(pairs);
  // Both happen, or nothing was raced.
  expect(Math.min(wins.submitted, wins.canceled)).toBeGreaterThan(0);
}, 240_000);

it('of 1,000 submissions by two payers of one link exactly one is accepted', async () => {
  const world = await linkWorld();
  for (let done = 0; done < pairs; done += batch)
    await Promise.all(
      Array.from({ length: batch }, async () => {
        const { token, paymentId } = await world.linked({ direction: 'OUTBOUND' });
        const other = { ...submission, achAccountNumber: '999000111222' };
        const results = await Promise.all([
          world.links.submit(token, submission, visitor),
          world.links.submit(token, other, visitor),
        ]);
        const outcomes = results.map((one) => ('refused' in one ? one.refused : one.status));
        expect(outcomes.toSorted()).toEqual(['ALREADY_SUBMITTED', 'QUEUED']);
        expect(await world.store.readStream(`payment-${paymentId}`)).toHaveLength(2);
      }),
    );
}, 240_000);

it('a submission and the expiry never both count, whatever the clock says between the two steps', async () => {
  // The clock passes the expiry at each of its readings in turn.
  for (const readings of [0, 1, 2, 3]) {
    const world = await linkWorld();
    const { token, paymentId } = await world.linked();
    const { link } = await world.stateOf(paymentId);
    if (link === null) throw new Error('no link');
    const lastMoment = new Date(Date.parse(link.expiresAt) - 1).toISOString();
    let read = 0;
    Object.defineProperty(world.clock, 'at', {
      get: () => (read++ < readings ? lastMoment : link.expiresAt),
    });
    const result = await world.links.submit(token, submission, visitor);
    const state = await world.stateOf(paymentId);
    if ('refused' in result) {
      expect(result).toEqual({ refused: 'LINK_EXPIRED' });
      expect(state.status).toBe('AWAITING_CONFIRMATION');
    } else {
      expect(unrefused(result)).toEqual({ status: 'QUEUED' });
      expect(state.statusAt < link.expiresAt).toBe(true);
    }
  }
});
