/** The named limits of the dispatcher, in one place; the contract's own numbers are configuration. */

/** Beyond the attempt's time limit: reading the response, recording late, clocks that differ. */
const leaseMarginMs = 15_000;

export function leaseMs(attemptTimeoutMs: number): number {
  return attemptTimeoutMs + leaseMarginMs;
}

export const dispatcherLimits = {
  /** More than one endpoint of one receiver may share an origin. */
  connectionsPerOriginMax: 64,
  endpoints: {
    freshForMs: 2_000,
    organizationsMax: 10_000,
  },
  engine: {
    inFlightMax: 512,
    inFlightPerEndpointMax: 16,
    batchMax: 200,
    pollMaxMs: 1_000,
    postponeMs: 1_000,
    disabledRecheckMs: 10_000,
    errorPauseMinMs: 100,
    errorPauseMaxMs: 5_000,
    shutdownGraceMs: 5_000,
    shutdownRecordMs: 2_000,
  },
} as const;
