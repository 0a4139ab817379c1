/** The apps that the Helm chart runs. */
import { apiGateway } from '@pis/api-gateway/app';
import { bankSimulator } from '@pis/bank-simulator/app';
import { dashboard } from '@pis/dashboard/app';
import { directoryProjector } from '@pis/directory-projector/app';
import { eventRelay } from '@pis/event-relay/app';
import { feeCollector } from '@pis/fee-collector/app';
import { paymentPages } from '@pis/payment-pages/app';
import { paymentsProjector } from '@pis/payments-projector/app';
import { railExecutor } from '@pis/rail-executor/app';
import { statementGenerator } from '@pis/statement-generator/app';
import { webhookDispatcher } from '@pis/webhook-dispatcher/app';
import type { z } from 'zod';

export interface AnyApp {
  readonly name: string;
  readonly env: z.ZodRawShape;
  readonly publicPort?: boolean;
}

/** Every app that is a process of its own, without all-in-one. */
export const apps: readonly AnyApp[] = [
  ...[apiGateway, dashboard, directoryProjector, eventRelay, feeCollector, paymentPages],
  ...[paymentsProjector, railExecutor, statementGenerator, webhookDispatcher, bankSimulator],
];
