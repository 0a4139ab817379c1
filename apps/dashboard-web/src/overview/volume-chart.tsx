/** The volume of each day as stacked bars, and as a table for who does not see them. */
import type { Overview } from '@pis/dashboard/api';
import type { CSSProperties } from 'react';
import { Bar, BarChart, CartesianGrid, ResponsiveContainer, Tooltip, XAxis, YAxis } from 'recharts';
import { directionNames, money } from '../format.js';
import { countText, daysOf, type DayVolume } from './figures.js';

const series = [
  { direction: 'INBOUND', color: 'var(--chart-request)' },
  { direction: 'OUTBOUND', color: 'var(--chart-send)' },
] as const;

const shortDate = new Intl.DateTimeFormat('en-US', {
  month: 'short',
  day: 'numeric',
  timeZone: 'UTC',
});
const shortMoney = new Intl.NumberFormat('en-US', {
  style: 'currency',
  currency: 'USD',
  notation: 'compact',
  maximumFractionDigits: 1,
});
const minorPerDollar = 100;
const dayText = (day: string) => shortDate.format(new Date(day));

export function VolumeChart({ overview }: { readonly overview: Overview }) {
  const days = daysOf(overview.from, overview.to, overview.volume);
  return (
    <>
      <div aria-hidden="true">
        <div className="legend">
          {series.map(({ direction, color }) => (
            <span key={direction} style={{ '--color': color } as CSSProperties}>
              {directionNames[direction]}
            </span>
          ))}
        </div>
        <div className="chart">
          <ResponsiveContainer width="100%" height="100%">
            <BarChart data={[...days]} accessibilityLayer={false} barCategoryGap="20%">
              <CartesianGrid vertical={false} stroke="var(--chart-grid)" />
              <XAxis
                dataKey="day"
                tickFormatter={dayText}
                tickLine={false}
                axisLine={{ stroke: 'var(--chart-grid)' }}
                minTickGap={32}
              />
              <YAxis
                width={64}
                tickLine={false}
                axisLine={false}
                tickFormatter={(value: number) => shortMoney.format(value / minorPerDollar)}
              />
              <Tooltip
                cursor={{ fill: 'var(--chart-grid)', opacity: 0.5 }}
                isAnimationActive={false}
                content={({ payload }) => (
                  <DayTooltip day={payload[0]?.payload as DayVolume | undefined} />
                )}
              />
              {series.map(({ direction, color }) => (
                <Bar
                  key={direction}
                  dataKey={direction}
                  stackId="volume"
                  fill={color}
                  isAnimationActive={false}
                  maxBarSize={36}
                />
              ))}
            </BarChart>
          </ResponsiveContainer>
        </div>
      </div>
      <VolumeTable days={days} />
    </>
  );
}

function DayTooltip({ day }: { readonly day: DayVolume | undefined }) {
  if (day === undefined) return null;
  return (
    <div className="chart-tooltip">
      <strong>{dayText(day.day)}</strong>
      {series.map(({ direction }) => (
        <div key={direction}>
          {directionNames[direction]}: {money(day[direction])}
        </div>
      ))}
      <div>{countText(day.payments, 'payment')}</div>
    </div>
  );
}

function VolumeTable({ days }: { readonly days: readonly DayVolume[] }) {
  return (
    <div className="visually-hidden">
      <table>
        <caption>Volume by day</caption>
        <thead>
          <tr>
            <th scope="col">Day</th>
            {series.map(({ direction }) => (
              <th key={direction} scope="col">
                {directionNames[direction]}
              </th>
            ))}
            <th scope="col">Payments</th>
          </tr>
        </thead>
        <tbody>
          {days.map((day) => (
            <tr key={day.day}>
              <th scope="row">{dayText(day.day)}</th>
              {series.map(({ direction }) => (
                <td key={direction}>{money(day[direction])}</td>
              ))}
              <td>{day.payments}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
