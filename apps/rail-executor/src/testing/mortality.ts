/** Lets a process die at its k-th external call, before the call takes effect or right after it. */
import type { BankConnection } from '@pis/bank-rails';
import type { EventStore } from '@pis/event-store';
import type pg from 'pg';

export class Died extends Error {
  override readonly name = 'Died';
}

export type Moment = 'before' | 'after';

export class Life {
  steps = 0;
  dead = false;

  constructor(
    private readonly diesAt: number,
    private readonly moment: Moment,
  ) {}

  /** After its death every call fails without effect. */
  async step<Result>(effect: () => Promise<Result>): Promise<Result> {
    if (this.dead) throw new Died('dead');
    this.steps += 1;
    const last = this.steps === this.diesAt;
    if (last && this.moment === 'before') return this.die();
    const result = await effect();
    return last ? this.die() : result;
  }

  private die(): never {
    this.dead = true;
    throw new Died('died');
  }
}

export function mortalStore(store: EventStore, life: Life): EventStore {
  return {
    ...store,
    append: (...args) => life.step(() => store.append(...args)),
    readStream: (...args) => life.step(() => store.readStream(...args)),
  };
}

export function mortalBank(bank: BankConnection, life: Life): BankConnection {
  return {
    ...bank,
    submit: (instruction) => life.step(() => bank.submit(instruction)),
    inquire: (reference) => life.step(() => bank.inquire(reference)),
    notifications: (page) => life.step(() => bank.notifications(page)),
  };
}

export function mortalPool(pool: pg.Pool, life: Life): pg.Pool {
  const withSteps = <Target extends pg.Pool | pg.PoolClient>(target: Target): Target =>
    new Proxy(target, {
      get(inner, name) {
        const value: unknown = Reflect.get(inner, name, inner);
        if (typeof value !== 'function') return value;
        const bound = value.bind(inner) as (...args: unknown[]) => unknown;
        if (name === 'query')
          return (...args: unknown[]) => life.step(async () => (await bound(...args)) as unknown);
        if (name === 'connect') return async () => withSteps((await bound()) as pg.PoolClient);
        return bound;
      },
    });
  return withSteps(pool);
}
