/** The limits of the dispatcher. The numbers that the specification names are configuration. */

/** Beyond the attempt's time limit: the wait for a slot, the response, a late record, clocks that differ. */
const leaseMarginMs = 15_000;

export function leaseMs(attemptTimeoutMs: number): number {
  return attemptTimeoutMs + leaseMarginMs;
}

export interface FailureReportLimits {
  readonly everyMs: number;
  /** Endpoints reported, or forgotten, in one round. */
  readonly batchMax: number;
}

export const dispatcherLimits = {
  /** As many as attempts in flight: endpoints of many clients may share a host, and must not wait for each other. */
  connectionsPerOriginMax: 640,
  endpoints: {
    freshForMs: 2_000,
    organizationsMax: 10_000,
    followAgainMs: 1_000,
    followWaitMs: 2_000,
  },
  partitions: {
    aheadDays: 7,
    everyMs: 3_600_000,
    /** After a failure. */
    againMs: 60_000,
    lockTimeoutMs: 200,
    lockTriesMax: 20,
    lockPauseMs: 1_000,
    deleteMax: 5_000,
  },
  failureReports: {
    everyMs: 60_000,
    batchMax: 100,
  },
  replays: {
    dueMax: 64,
    waitingMax: 5_000,
    scanMax: 500,
    leaseMs: 30_000,
    pageEveryMs: 25,
    pollMs: 2_000,
    waitMs: 1_000,
    disabledRecheckMs: 10_000,
    pruneEveryMs: 3_600_000,
    pruneMax: 5_000,
  },
  engine: {
    quickMax: 256,
    unknownMax: 128,
    slowMax: 384,
    slowAfterMs: 500,
    perEndpointInitial: 4,
    perEndpointMax: 32,
    slowPerEndpointMax: 8,
    unhealthyAfterFailures: 10,
    unhealthyPauseMs: 1_000,
    endpointsMax: 10_000,
    waitingMax: 1_024,
    waitingPerEndpointMax: 64,
    batchMax: 256,
    dueEndpointsMax: 256,
    /** Part of the lease's margin. The rest covers the response and its record. */
    beginWithinMs: 9_000,
    pollMaxMs: 2_000,
    postponeMs: 1_000,
    expiredBatchMax: 1_000,
    disabledRecheckMs: 10_000,
    errorPauseMinMs: 100,
    errorPauseMaxMs: 5_000,
    shutdownGraceMs: 5_000,
    shutdownRecordMs: 2_000,
  },
} as const;
