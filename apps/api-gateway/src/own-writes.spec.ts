import type { ProjectionProgress } from '@pis/read-models';
import { OwnWrites } from './own-writes.js';

/** Projections that have come nowhere yet; `waits` are the positions that lists wait for. */
function setUp() {
  const waits: string[] = [];
  const progress = (name: string) =>
    ({
      waitFor: (position: string, waitMaxMs: number) => {
        waits.push(`${name} ${position} ${waitMaxMs}`);
        return Promise.resolve(false);
      },
    }) as unknown as ProjectionProgress;
  const names = ['payments', 'directory', 'events'] as const;
  const [payments, directory, events] = names.map(progress);
  if (!payments || !directory || !events) throw new Error('a projection is missing');
  return { own: new OwnWrites({ payments, directory, events }), waits };
}

describe('a list', () => {
  it('waits a second at most for the last of what its organization wrote here', async () => {
    const { own, waits } = setUp();
    own.note('payments', 'mine', '05');
    own.note('payments', 'mine', '07');
    // The answer of an earlier append may come later.
    own.note('payments', 'mine', '06');
    await own.visible('payments', 'mine');
    expect(waits).toEqual(['payments 07 1000']);
  });

  it('waits for no other organization, for no other kind of record and for nothing that was not written', async () => {
    const { own, waits } = setUp();
    own.note('payments', 'theirs', '05');
    own.note('directory', 'mine', '06');
    own.note('payments', 'mine', null);
    await own.visible('payments', 'mine');
    expect(waits).toEqual([]);
    await own.visible('directory', 'mine');
    expect(waits).toEqual(['directory 06 1000']);
  });

  it('of events waits for payments', async () => {
    const { own, waits } = setUp();
    own.note('payments', 'mine', '05');
    await own.visible('events', 'mine');
    expect(waits).toEqual(['events 05 1000']);
  });
});
