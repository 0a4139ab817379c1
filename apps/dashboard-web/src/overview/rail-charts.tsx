/** How often each rail succeeds, what became of its payments, and how long it takes. The table of the rails has the same figures. */
import type { Overview } from '@pis/dashboard/api';
import type { CSSProperties } from 'react';
import { BarRows } from './bar-rows.js';
import { countText, durationText, durationTicks, rateText } from './figures.js';

interface Props {
  readonly rails: Overview['rails'];
}

const successColor = 'var(--chart-request)';
const timeColor = 'var(--chart-send)';
const rateTicks = [0, 0.25, 0.5, 0.75, 1];

export function SuccessRateChart({ rails }: Props) {
  const rows = rails.flatMap(({ paymentRail, successRate }) => {
    if (successRate === null) return [];
    const figure = rateText(successRate);
    return [{ name: paymentRail, bar: successRate, figure, text: `${paymentRail}: ${figure}` }];
  });
  return (
    <BarRows
      title="Success rate by rail"
      rows={rows}
      color={successColor}
      ticks={rateTicks}
      tickText={rateText}
    />
  );
}

const outcomes = [
  { key: 'completed', name: 'Completed', color: 'var(--chart-request)' },
  { key: 'returned', name: 'Returned', color: 'var(--chart-return)' },
  { key: 'failed', name: 'Failed', color: 'var(--chart-failed)' },
  { key: 'inDoubt', name: 'In doubt', color: 'var(--chart-send)' },
] as const satisfies readonly { key: keyof Overview['rails'][number]; [more: string]: string }[];

/** What became of the payments of the period. A payment in doubt may still complete. */
export function OutcomesChart({ rails }: Props) {
  const rows = rails.map((rail) => {
    const words = outcomes.map(({ key, name }) => `${rail[key].toLocaleString('en-US')} ${name}`);
    const all = outcomes.reduce((sum, { key }) => sum + rail[key], 0);
    const parts = outcomes.map(({ key }) => rail[key]);
    const text = `${rail.paymentRail}: ${words.join(', ').toLowerCase()}, of ${countText(all, 'payment')}`;
    return { name: rail.paymentRail, bar: { parts }, text };
  });
  return (
    <>
      <div className="legend" aria-hidden="true">
        {outcomes.map(({ name, color }) => (
          <span key={name} style={{ '--color': color } as CSSProperties}>
            {name}
          </span>
        ))}
      </div>
      <BarRows
        title="Outcomes by rail"
        rows={rows}
        color={outcomes.map(({ color }) => color)}
        tickText={(value) => value.toLocaleString('en-US')}
      />
    </>
  );
}

/** Seconds on one rail are days on another: the scale is logarithmic, so bars do not begin at zero. */
export function CompletionTimeChart({ rails }: Props) {
  const rows = rails.flatMap(({ paymentRail, medianMs, p95Ms }) => {
    if (medianMs === null || p95Ms === null) return [];
    const text = `${paymentRail}: median ${durationText(medianMs)}, 95 % within ${durationText(p95Ms)}`;
    return [{ name: paymentRail, bar: [Math.max(1, medianMs), Math.max(1, p95Ms)] as const, text }];
  });
  return (
    <>
      <div className="legend" aria-hidden="true">
        <span style={{ '--color': timeColor } as CSSProperties}>From the median to 95 %</span>
      </div>
      <BarRows
        title="Time to completion by rail"
        rows={rows}
        color={timeColor}
        scale="log"
        ticks={durationTicks(rows.flatMap(({ bar }) => bar))}
        tickText={durationText}
      />
    </>
  );
}
