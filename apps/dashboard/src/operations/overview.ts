/** The overview. */
import type { Figures } from '@pis/read-models';
import { z } from 'zod';
import { op } from '../operation.js';

const periods = ['7', '30', '90'] as const;

export interface Overview extends Omit<Figures, 'returns'> {
  /** Of the period's payments. The most frequent first. */
  readonly returns: readonly (Figures['returns'][number] & {
    /** What the code means. Null for one that is not of Nacha's list. */
    readonly reason: string | null;
  })[];
  /** Days of the period, UTC, both included. The last one is today. */
  readonly from: string;
  readonly to: string;
  readonly failingEndpoints: readonly {
    readonly webhookId: string;
    readonly url: string;
    /** `failing` after a day without a success. */
    readonly health: 'degraded' | 'failing';
    readonly failingSince: string;
  }[];
}

export const overviewOperations = {
  /** `days`: how many, with today. */
  getOverview: op<Overview>()({
    method: 'GET',
    path: '/overview',
    role: 'viewer',
    query: z.object({ days: z.enum(periods).default('30') }),
  }),
} as const;
