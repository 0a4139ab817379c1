/**
 * 500 payments over all rails while executors, the bank, PostgreSQL and the broker are killed and lines are
 * cut in the middle of uploads, 50 times in all. Submissions are also late, doubled and refused. In the end
 * the bank has executed each payment that was handed off once, and every payment has the status that the
 * bank's books say. The bank's books are in a database that nothing here kills.
 *
 * PIS_CHAOS_SEED repeats the plan of a run: payments, kills and cuts. It does not repeat the timing.
 */
import { randomInt } from 'node:crypto';
import { generator, type Random, until } from '@pis/local-servers/testing';
import type { CutPlan } from './support/cutting-line.js';
import { pisJson } from './support/process.js';
import { type RailsSystem, startRailsSystem } from './support/rails-chaos.js';
import { Auditor, type InDoubt } from './support/rails-chaos-auditor.js';
import {
  payees,
  PaymentStream,
  plannedPayments,
  scenarios,
  shuffled,
} from './support/rails-chaos-payments.js';

const paymentsCount = 500;
const onKafka = Boolean(process.env['PIS_TEST_KAFKA_BROKERS']);
/** 50 in all. A broker takes its time to come back, and its consumers theirs. Without one, executors die instead. */
const victims = {
  executor: onKafka ? 11 : 13,
  bank: 8,
  database: 4,
  broker: onKafka ? 2 : 0,
  'a file': 12,
  'a message': 13,
} as const;
type VictimName = keyof typeof victims;
const victimNames = Object.keys(victims) as VictimName[];

const startLimitMs = 300_000;
const testLimitMs = 900_000;
/** Longer than any recovery: the lease of a dead consumer, the pauses of retries, on a busy machine. */
const momentLimitMs = 180_000;
const settledLimitMs = 300_000;
const auditEveryMs = 500;
/** Longer than most recoveries, so that few payments are in flight only because something was killed. */
const confirmationTimeoutMs = 20_000;
const lateCutMaxMs = 2_000;
const requestsAfterBytes = 3;

const seed = Number(process.env['PIS_CHAOS_SEED'] ?? randomInt(1_000_000));

let system: RailsSystem;
let random: Random;

beforeAll(async () => {
  process.stderr.write(`rails-chaos: PIS_CHAOS_SEED=${seed}\n`);
  random = generator(seed);
  system = await startRailsSystem({
    ...{ onKafka, random: generator(seed + 1), scenarios },
    settings: { PIS_RAIL_CONFIRMATION_TIMEOUT_MS: String(confirmationTimeoutMs) },
  });
}, startLimitMs);
afterAll(() => system?.stop(), startLimitMs);

it(
  'every payment that is handed off is executed once, and has the status that the books of the bank say',
  async () => {
    const planned = plannedPayments(paymentsCount, random);
    const stream = new PaymentStream(system.api, planned, await payees(system.api));
    const auditor = auditorOf(planned);
    const order = shuffled(
      victimNames.flatMap((name) => Array.from({ length: victims[name] }, () => name)),
      random,
    );
    const chaos = new Chaos(stream, auditor);
    for (const [index, victim] of order.entries()) {
      const allowed = Math.ceil(((index + 1) * paymentsCount) / order.length);
      await chaos.strike(victim, allowed);
    }
    await stream.reached(paymentsCount);
    await chaos.over();

    await Promise.all([
      ...Object.values(system.lines).map((line) => line.quiet()),
      system.unreliable.quiet(),
    ]);
    await settled(auditor);

    expect(Object.fromEntries(chaos.struck)).toEqual(victims);
    // Otherwise nothing went wrong that could have done harm.
    expect(await auditor.repeated()).toBeGreaterThan(0);
    const mishaps = new Set([...system.unreliable.mishaps.values()].flat());
    expect([...mishaps].sort()).toEqual(['refused', 'refused and late', 'twice']);
  },
  testLimitMs,
);

class Chaos {
  readonly struck = new Map<VictimName, number>(victimNames.map((name) => [name, 0]));
  /** Cuts that wait for an upload. */
  private readonly cuts: Record<'files' | 'messages', Promise<void>> = {
    files: Promise.resolve(),
    messages: Promise.resolve(),
  };

  constructor(
    private readonly stream: PaymentStream,
    private readonly auditor: Auditor,
  ) {}

  /** At some moment while payments are made up to `allowed`. */
  async strike(victim: VictimName, allowed: number): Promise<void> {
    const { executors, bank, kafka } = system;
    if (victim === 'a file' || victim === 'a message') {
      // The last one of this line must be over.
      const line = victim === 'a file' ? 'files' : 'messages';
      await within(this.cuts[line], `cut of ${line}`);
      const filesBefore = await this.auditor.files();
      // Set before payments are allowed: all of their uploads might pass otherwise, and none be left to cut.
      this.cuts[line] = this.cut(victim, filesBefore);
      this.stream.allow(allowed);
      return;
    }
    const moment = this.moment(allowed);
    this.stream.allow(allowed);
    await within(moment, 'moment to strike');
    switch (victim) {
      case 'executor':
        await executors[random(executors.length)]?.kill();
        break;
      case 'bank':
        await bank.kill();
        break;
      case 'database':
        await system.killPostgres();
        break;
      case 'broker':
        await kafka?.kill();
        // Payments are taken without it.
        await this.stream.reached(allowed);
        // On a busy machine a start may take too long.
        await until(() => kafka?.restart().then(() => true) ?? true, {
          ...{ timeoutMs: momentLimitMs, what: 'the broker runs again' },
        });
    }
    this.note(victim);
  }

  private async cut(victim: 'a file' | 'a message', filesBefore: number): Promise<void> {
    const { files, messages } = system.lines;
    await (victim === 'a file' ? files : messages).cutNext(cutPlan(victim));
    this.note(victim);
    if (victim === 'a message') return;
    // The pause before the next try of a file doubles. Let it through before another upload is cut.
    await until(async () => (await this.auditor.files()) > filesBefore, {
      ...{ timeoutMs: momentLimitMs, what: 'the file that was cut' },
    });
  }

  /** Resolves when everything has been cut and runs again. */
  async over(): Promise<void> {
    for (const [line, cut] of Object.entries(this.cuts)) await within(cut, `cut of ${line}`);
    await Promise.all([system.bank, ...system.executors].map((victim) => victim.up()));
  }

  private note(victim: VictimName): void {
    this.struck.set(victim, (this.struck.get(victim) ?? 0) + 1);
  }

  /** A fact of the next stretch: a payment accepted, a transfer taken, or an upload under way. */
  private async moment(allowed: number): Promise<void> {
    const { files, messages } = system.lines;
    const stretch = paymentsCount / 50;
    switch (random(3)) {
      case 0:
        return this.stream.reached(allowed - random(stretch));
      case 1: {
        const goal = (await this.auditor.taken()) + 1 + random(3);
        await until(async () => (await this.auditor.taken()) >= goal, {
          ...{ timeoutMs: momentLimitMs, what: `${goal} transfers taken` },
        });
        return;
      }
      default:
        await Promise.race([files.nextUpload(), messages.nextUpload()]);
    }
  }
}

function cutPlan(victim: 'a file' | 'a message'): CutPlan {
  // After the bytes of a file come requests for its size, its end and its final name. A message is one request.
  const afterRequests = victim === 'a file' ? Math.min(random(6), requestsAfterBytes) : 0;
  switch (random(4)) {
    case 0:
      return { afterRequests, cut: { kind: 'before' } };
    case 1:
      return { afterRequests, cut: { kind: 'middle', share: random(100) / 100 } };
    case 2:
      return { afterRequests, cut: { kind: 'after' } };
    default:
      return { afterRequests, cut: { kind: 'late', lateMs: random(lateCutMaxMs) } };
  }
}

function auditorOf(planned: ConstructorParameters<typeof Auditor>[2]): Auditor {
  const { api, bankPool, unreliable, environment } = system;
  return new Auditor(api, bankPool, planned, unreliable.mishaps, async () => {
    const { data } = await pisJson<{ data: InDoubt[] }>(['payments', 'in-doubt'], environment);
    return new Map(data.map((one) => [one.paymentId, one]));
  });
}

async function settled(auditor: Auditor): Promise<void> {
  let problems: readonly string[] = [];
  await until(
    async () => {
      problems = await auditor.problems();
      return problems.length === 0;
    },
    { timeoutMs: settledLimitMs, everyMs: auditEveryMs },
  ).catch((error: unknown) => {
    throw new Error(`PIS_CHAOS_SEED=${seed}:\n${problems.join('\n')}`, { cause: error });
  });
}

async function within(work: Promise<void>, what: string): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`no ${what}`)), momentLimitMs);
  try {
    await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
