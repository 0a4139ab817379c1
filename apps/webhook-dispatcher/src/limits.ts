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

/** Attempts under way, unless PIS_WEBHOOK_CONCURRENCY says otherwise. */
const concurrencyDefault = 640;
/** Most attempts wait for slow receivers. A fifth may go to endpoints that are not known yet. */
const quickShare = 0.4;
const unknownShare = 0.2;
/** Of the quick slots, for endpoints that are not known yet: quick ones with a backlog would take every slot. */
const quickReservedShare = 0.0625;
/** What one endpoint may take of them, so that it never takes all. */
const quickPerEndpointShare = 0.25;
const slowPerEndpointShare = 0.125;
/** Of the slow slots, so that one organization with many endpoints never takes all. */
const slowPerOrganizationShare = 0.5;
/** The same with its attempts to quick endpoints, which may all begin to hang. */
const underWayPerOrganizationShare = 0.75;
/** Concurrent attempts to one endpoint, however many slots there are: at first, at most, and to a slow one. */
const perEndpoint = { initial: 4, max: 32, slowMax: 8 } as const;

/** How the attempts under way are divided. */
export function slotsOf(concurrency = concurrencyDefault) {
  const quickMax = Math.floor(concurrency * quickShare);
  const slowMax = concurrency - quickMax;
  const perEndpointMax = shareOf(quickMax, quickPerEndpointShare, perEndpoint.max);
  return {
    quickMax,
    unknownMax: Math.floor(concurrency * unknownShare),
    knownMax: quickMax - shareOf(quickMax, quickReservedShare, quickMax),
    slowMax,
    slowPerOrganizationMax: shareOf(slowMax, slowPerOrganizationShare, slowMax),
    underWayPerOrganizationMax: shareOf(slowMax, underWayPerOrganizationShare, slowMax),
    perEndpointInitial: Math.min(perEndpoint.initial, perEndpointMax),
    perEndpointMax,
    slowPerEndpointMax: shareOf(slowMax, slowPerEndpointShare, perEndpoint.slowMax),
    openPerEndpointMax: shareOf(quickMax, quickPerEndpointShare, quickMax),
    // Endpoints of many clients may share a host, and must not wait for each other.
    connectionsPerOriginMax: concurrency,
  };
}

function shareOf(slots: number, share: number, max: number): number {
  return Math.max(1, Math.min(max, Math.floor(slots * share)));
}

export const dispatcherLimits = {
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
    slowAfterMs: 500,
    slowAfterBusyMs: 2_000,
    unhealthyAfterFailures: 10,
    unhealthyPauseMs: 1_000,
    endpointsMax: 10_000,
    waitingMax: 2_048,
    waitingPerEndpointMax: 256,
    waitingPerOrganizationMax: 1_024,
    batchMax: 256,
    dueEndpointsMax: 256,
    /** Part of the lease's margin. The rest covers the response and its record. */
    beginWithinMs: 9_000,
    pollMaxMs: 2_000,
    busyForMs: 60_000,
    tellEveryMs: 10_000,
    postponeMs: 1_000,
    expiredBatchMax: 1_000,
    disabledRecheckMs: 10_000,
    errorPauseMinMs: 100,
    errorPauseMaxMs: 5_000,
    shutdownGraceMs: 5_000,
    shutdownRecordMs: 2_000,
  },
} as const;
