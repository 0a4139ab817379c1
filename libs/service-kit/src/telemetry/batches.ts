/**
 * Work that several traces share, such as one commit of many appends. A span has one parent: that of the
 * batch is the first span, and the others and the batch link to each other.
 */
import { context, type Link, ROOT_CONTEXT, type Span, trace } from '@opentelemetry/api';
import { observeBatches } from '@pis/postgres';
import { markFailed } from '../tracing.js';

const tracer = trace.getTracer('pis');

/** Runs the work in a span of its own. Without any recorded member it belongs to no trace. */
export function inBatchOf<Result>(
  name: string,
  members: readonly (Span | null)[],
  work: () => Promise<Result>,
): Promise<Result> {
  const [first, ...others] = members.filter((span) => span !== null);
  if (first === undefined) return context.with(ROOT_CONTEXT, work);
  const links: Link[] = others.map((span) => ({ context: span.spanContext() }));
  const attributes = { 'pis.batch.size': members.length };
  const parent = trace.setSpan(ROOT_CONTEXT, first);
  return tracer.startActiveSpan(name, { links, attributes }, parent, async (batch) => {
    for (const span of others) span.addLink({ context: batch.spanContext() });
    try {
      return await work();
    } catch (error) {
      markFailed(batch, error);
      throw error;
    } finally {
      batch.end();
    }
  });
}

/** The span in which this runs, if it is recorded. */
export function recordedSpan(): Span | null {
  const span = trace.getActiveSpan();
  return span?.isRecording() === true ? span : null;
}

/** For every group commit of this process. A commit would otherwise belong to the trace of whoever began it. */
export function traceBatches(): void {
  observeBatches<Span | null>({
    added: recordedSpan,
    run: (members, write) => inBatchOf('group commit', members, write),
  });
}
