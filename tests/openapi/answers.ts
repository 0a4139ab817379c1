/** What Schemathesis asked and was answered, from its NDJSON report. */
import { readFileSync } from 'node:fs';

interface Recorder {
  readonly cases: Readonly<
    Record<string, { readonly value: { readonly method: string; readonly path: string } }>
  > | null;
  readonly interactions: Readonly<
    Record<string, { readonly response: { readonly status_code: number } | null }>
  > | null;
}
interface Line {
  readonly ScenarioFinished?: { readonly recorder?: Recorder };
}

/** How often each operation (`GET /v1/payments/{paymentId}`) was answered with each status. */
export function answersIn(report: string): ReadonlyMap<string, ReadonlyMap<number, number>> {
  const answers = new Map<string, Map<number, number>>();
  for (const text of readFileSync(report, 'utf8').trim().split('\n')) {
    const recorder = (JSON.parse(text) as Line).ScenarioFinished?.recorder;
    for (const [id, { response }] of Object.entries(recorder?.interactions ?? {})) {
      const asked = recorder?.cases?.[id]?.value;
      if (asked === undefined || response === null) continue;
      const operation = `${asked.method} ${asked.path}`;
      const statuses = answers.get(operation) ?? new Map<number, number>();
      answers.set(operation, statuses);
      statuses.set(response.status_code, (statuses.get(response.status_code) ?? 0) + 1);
    }
  }
  return answers;
}
