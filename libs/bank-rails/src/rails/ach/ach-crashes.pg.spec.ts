/** A process dies before or after each call to PostgreSQL and to the bank. Another one goes on. */
import { openTestPool } from '@pis/local-servers/testing';
import type { TransferInstruction } from '../../bank-connection.js';
import { Life, type Moment, mortalPool, mortalTransport } from '../../testing/mortality.js';
import { type AchWorld, openAchWorld } from '../../testing/ach-world.js';
import { instructionEnding } from '../../testing/transfer-instructions.js';

const limitMs = 240_000;
/** More calls than one life makes. */
const stepsMax = 200;
const expected = {
  '4321': ['confirmed'],
  '0101': ['confirmed', 'returned'],
  '0204': ['rejected'],
  '0401': [],
} as const;

let world: AchWorld;
beforeEach(async () => {
  world = await openAchWorld();
});
afterEach(() => world.close());

/** Submits what is left and works until nothing is left to do, or until it dies. */
async function live(life: Life, instructions: readonly TransferInstruction[]): Promise<void> {
  const bank = world.open({
    pool: mortalPool(world.pool, life),
    transport: mortalTransport(world.desk.transport(), life),
  });
  for (const instruction of instructions) await bank.submit(instruction).catch(() => undefined);
  await world.settle(bank).catch(() => undefined);
}

/** Each upload of a name has the same bytes. */
function expectSameBytes(): void {
  const first = new Map<string, Uint8Array>();
  for (const { name, bytes } of world.desk.uploads) {
    const known = first.get(name) ?? bytes;
    expect(Buffer.compare(known, bytes)).toBe(0);
    first.set(name, known);
  }
}

it.each<Moment>(['before', 'after'])(
  'a process that dies %s any step loses nothing and sends nothing twice',
  async (moment) => {
    for (let step = 1; step <= stepsMax; step += 1) {
      const instructions = Object.keys(expected).map((ending) => instructionEnding(ending));
      const life = new Life(step, moment);
      await live(life, instructions);
      // The executor submits again what it has no answer for, then asks about it.
      await live(new Life(Infinity, moment), instructions);
      for (const { reference } of instructions) await world.bank.inquire(reference);
      await world.settle();
      const feed = await world.feed();
      const typesOf = ({ reference }: TransferInstruction) =>
        feed.filter((one) => one.reference === reference).map(({ type }) => type);
      expect({ step, types: instructions.map(typesOf) }).toEqual({
        step,
        types: Object.values(expected),
      });
      for (const instruction of instructions) {
        const trace = await world.traceOf(instruction);
        const isTaken = !instruction.contactAccount.achAccountNumber.endsWith('0204');
        expect(world.desk.executions.get(trace) ?? 0).toBe(isTaken ? 1 : 0);
      }
      expectSameBytes();
      if (!life.isDead) {
        expect(step).toBeGreaterThan(20);
        return;
      }
    }
    throw new Error('a life has more steps than stepsMax');
  },
  limitMs,
);

/** PostgreSQL ends its connections before the k-th call, and takes new ones at once. */
class Outage extends Life {
  constructor(
    private readonly at: number,
    private readonly application: string,
  ) {
    super(Infinity, 'before');
  }

  override async step<Result>(effect: () => Promise<Result>): Promise<Result> {
    if (this.steps + 1 === this.at)
      await world.pool.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1',
        [this.application],
      );
    return super.step(effect);
  }
}

it.each([
  'a process that dies before',
  'a process that dies after',
  'a database that goes away at',
])(
  '%s any step tells both returns of an entry, each once',
  async (what) => {
    const application = 'reads-returns';
    const pool = openTestPool(world.pool.options.connectionString ?? '', 4, application);
    try {
      for (let step = 1; step <= stepsMax; step += 1) {
        const instruction = await world.submit('4321');
        await world.settle();
        const trace = await world.traceOf(instruction);
        await world.desk.postReturns([trace, trace], 'R01');
        const moment: Moment = what.includes('after') ? 'after' : 'before';
        const life = what.includes('database')
          ? new Outage(step, application)
          : new Life(step, moment);
        const bank = world.open({ pool: mortalPool(pool, life) });
        await bank.rounds.inbound().catch(() => undefined);
        await world.settle();
        const feed = await world.feed();
        const returns = (reference: string) =>
          feed.filter((one) => one.reference === reference && one.type === 'returned').length;
        const told = [returns(instruction.reference), returns(`ACH trace ${trace}`)];
        expect({ step, told }).toEqual({ step, told: [1, 1] });
        if (life.steps < step) {
          expect(step).toBeGreaterThan(5);
          return;
        }
      }
      throw new Error('a life has more steps than stepsMax');
    } finally {
      await pool.end();
    }
  },
  limitMs,
);
