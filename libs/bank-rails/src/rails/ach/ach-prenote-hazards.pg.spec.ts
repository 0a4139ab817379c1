/** What could let a payment go whose account was not checked, or fail one whose account is right. */
import { testAchIdentity } from '../../testing/ach-identity.js';
import { type AchWorld, openAchWorld } from '../../testing/ach-world.js';
import { instructionEnding } from '../../testing/transfer-instructions.js';
import type { TransferInstruction } from '../../bank-connection.js';
import type { AchBankOptions } from './ach-bank.js';
import { atOnceSchedule } from './ach-schedule.js';

const waitMs = 3 * 24 * 3_600_000;
const identity = { ...testAchIdentity, prenotes: true };

let world: AchWorld;
let aheadMs: number;
beforeEach(async () => {
  world = await openAchWorld();
  aheadMs = 0;
});
afterEach(() => world.close());

const clock = () => Date.now() + aheadMs;
const schedule = { ...atOnceSchedule(), liveFrom: (sentAtMs: number) => sentAtMs + waitMs };
const open = (options: Partial<AchBankOptions> = {}) =>
  world.open({ identity, clock, schedule, ...options });
type Bank = ReturnType<typeof open>;

const outcome = async (bank: Bank, instruction: TransferInstruction) =>
  (await bank.prepare?.(instruction))?.outcome;
it('a payment that was submitted needs no prenote: its entry says what became of it', async () => {
  const before = open({ identity: testAchIdentity });
  const instruction = instructionEnding('4321');
  await before.submit(instruction);
  await world.settle(before);
  const bank = open();
  expect(await outcome(bank, instruction)).toBe('ready');
  expect(await bank.submit(instruction)).toEqual({ outcome: 'accepted' });
  expect(await world.count('ach_prenotes')).toBe(0);
});
