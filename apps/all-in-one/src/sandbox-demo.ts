/**
 * What the sandbox shows at first: the demo organization with a key, payments and a user of the dashboard. All of it
 * is made by the first start. A start that was cut off is completed by the next one.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { INestApplication } from '@nestjs/common';
import { openRoutingDirectory } from '@pis/bank-rails/directory';
import {
  bootstrapDemoOrganization,
  bootstrapDemoUser,
  ContactDirectory,
  type DemoOrganization,
  demoPaymentsSettled,
  type DemoUser,
  PaymentLinks,
  PaymentSimulation,
  playDemoPayments,
} from '@pis/commands';
import type { EventStore } from '@pis/event-store';
import { isTransient } from '@pis/postgres';
import { projectionProgress } from '@pis/read-models';
import { type DemoConfig, EVENT_STORE, KEYRING, PG_POOL } from '@pis/service-kit';
import { Users } from '@pis/users';
import { simulatesBank } from './simulated-bank.js';

export interface SandboxDemo extends DemoOrganization {
  /** Null when an earlier start made it: the password is shown once. */
  readonly user: DemoUser | null;
  /** Those that this start made. */
  readonly paymentIds: readonly string[];
}

/** Runs the work again while a store is away. */
type Retry = <Result>(work: () => Promise<Result>) => Promise<Result>;

const shownLimitMs = 5_000;
/** The user waits for it. Most payments take less than a second. */
const settledLimitMs = 1_500;
const settledCheckMs = 50;

export async function bootstrapDemo(
  app: INestApplication,
  config: DemoConfig & Parameters<typeof simulatesBank>[0],
  retry: Retry,
): Promise<SandboxDemo> {
  const store = app.get<EventStore>(EVENT_STORE);
  let paymentIds: readonly string[] = [];
  const demo = await retry(() =>
    bootstrapDemoOrganization({
      store,
      keyring: app.get(KEYRING),
      banks: openRoutingDirectory(app.get(PG_POOL), config.PIS_ENVIRONMENT),
      apiKey: config.PIS_BOOTSTRAP_API_KEY,
      environment: config.PIS_ENVIRONMENT,
      beforeKey: async ({ organizationId, originatorIds }) => {
        const originatorId = originatorIds.at(-1);
        // A bank that a variable names may be a real one.
        const isWanted = config.PIS_DEMO_PAYMENTS && simulatesBank(config);
        if (!isWanted || originatorId === undefined) return;
        const [contacts, links] = [app.get(ContactDirectory), app.get(PaymentLinks)];
        paymentIds = await playDemoPayments({
          ...{ store, contacts, links },
          ...{ organizationId, originatorId },
        });
      },
    }),
  );
  // The first lists after the ready line must be complete.
  if (demo.apiKey !== null) {
    const position = await retry(() => store.lastPosition());
    for (const name of ['directory', 'payments'] as const)
      await projectionProgress(app.get(PG_POOL), name).waitFor(position, shownLimitMs);
  }
  // Last: the password exists only in the ready line.
  const users = app.get(Users);
  const user = await retry(() => bootstrapDemoUser(users, demo.organizationId));
  return { ...demo, user, paymentIds };
}

/** Waits a moment until the simulated bank has done its part. Whatever takes longer goes on without us. */
export async function demoShown(
  app: INestApplication,
  { paymentIds, organizationId }: SandboxDemo,
  isEnding: () => boolean,
): Promise<void> {
  const store = app.get<EventStore>(EVENT_STORE);
  const settling = { store, simulation: app.get(PaymentSimulation), organizationId };
  const giveUpAtMs = performance.now() + settledLimitMs;
  while (paymentIds.length > 0 && !isEnding() && performance.now() < giveUpAtMs) {
    const isSettled = demoPaymentsSettled(settling, paymentIds);
    if (await isSettled.catch(falseWhileAway)) return;
    await delay(settledCheckMs);
  }
}

function falseWhileAway(error: unknown): false {
  if (isTransient(error)) return false;
  throw error;
}
