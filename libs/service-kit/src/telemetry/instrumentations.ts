/**
 * OpenTelemetry's own instrumentation of pg. It expects to be loaded before pg, or an import hook in every command
 * line. But it patches prototypes in place, so here it is given the loaded modules instead. That works for ES
 * modules too, and loads nothing while telemetry is off.
 *
 * The instrumentation of node:http works in the same way, and is not used: for every request, recorded or not, it
 * parses the address and wraps both emitters, which took a tenth of the gateway's CPU time. And it knows
 * no routes. A hook begins these spans (traceHttp). Banks and webhook endpoints are called through undici, which
 * neither covers: those spans are at our ports, and no `traceparent` of ours is sent to clients and banks.
 */
import { createRequire } from 'node:module';
import type { MeterProvider, TracerProvider } from '@opentelemetry/api';
import pg from 'pg';

/** @param meterProvider for the durations of queries; none when absent */
export async function instrument(
  tracerProvider: TracerProvider,
  meterProvider?: MeterProvider,
): Promise<void> {
  const { PgInstrumentation } = await import('@opentelemetry/instrumentation-pg');
  // The loops read their tables all day. Only queries of a request, message or delivery belong to a trace.
  const instrumentation = new PgInstrumentation({ enabled: false, requireParentSpan: true });
  instrumentation.setTracerProvider(tracerProvider);
  if (meterProvider !== undefined) instrumentation.setMeterProvider(meterProvider);
  const loaded: Readonly<Record<string, unknown>> = { pg, 'pg-pool': pgPool() };
  for (const { name, patch } of instrumentation.getModuleDefinitions()) {
    const exports = loaded[name];
    if (exports !== undefined) patch?.(exports);
  }
}

/** The class that pg's own pool extends. It is pg's dependency, not ours. */
function pgPool(): unknown {
  const ours = createRequire(import.meta.url);
  return createRequire(ours.resolve('pg'))('pg-pool');
}
