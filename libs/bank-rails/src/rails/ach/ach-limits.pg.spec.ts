/** Entries above what the bank takes in one file: none of its files may hold them. */
import { type AchWorld, openAchWorld } from '../../testing/ach-world.js';
import { testAchIdentity } from '../../testing/ach-identity.js';
import { instructionEnding } from '../../testing/transfer-instructions.js';

let world: AchWorld;
beforeEach(async () => {
  world = await openAchWorld();
});
afterEach(() => world.close());

const amountMinor = 50_000;
const limited = () =>
  world.open({
    identity: {
      ...testAchIdentity,
      limits: { ...testAchIdentity.limits, amountPerFileMaxMinor: amountMinor },
    },
  });
const rejection = {
  ...{ failureCode: 'INTERNAL_ERROR', field: null },
  message: expect.stringContaining('create payments of smaller amounts') as string,
};

it('an entry above the limit is rejected when it is submitted, and one up to it goes out', async () => {
  const bank = limited();
  const tooLarge = instructionEnding('4321', { amountMinor: amountMinor + 1 });
  const refused = { outcome: 'error', rejection };
  expect(await bank.submit(tooLarge)).toMatchObject(refused);
  expect(await bank.submit(tooLarge)).toMatchObject(refused);
  expect(await bank.inquire(tooLarge.reference)).toMatchObject(refused);
  await bank.submit(instructionEnding('4321', { amountMinor }));
  await world.settle(bank);
  expect(world.desk.uploads).toHaveLength(1);
  expect(await world.count('ach_entries', "status = 'accepted'")).toBe(1);
  await bank.close();
});

it('an entry that waited while the limit was lowered is rejected before its file, and holds up no other', async () => {
  const tooLarge = await world.submit('4321', { amountMinor: amountMinor + 1 });
  const other = await world.submit('4321', { amountMinor });
  const bank = limited();
  await world.settle(bank);
  expect(world.desk.uploads).toHaveLength(1);
  expect(await world.feed()).toMatchObject([
    { type: 'rejected', reference: tooLarge.reference, rejection },
    { type: 'confirmed', reference: other.reference },
  ]);
  expect(await world.bank.submit(tooLarge)).toMatchObject({ outcome: 'error' });
  await bank.close();
});
