/** A chart of one horizontal bar for each row, whole or stacked. Its figures are also text: in the name of the picture, and in a table beside it. */
import type { ReactNode } from 'react';
import {
  Bar,
  BarChart,
  CartesianGrid,
  LabelList,
  ResponsiveContainer,
  Tooltip,
  XAxis,
  YAxis,
} from 'recharts';

const rowHeightPx = 36;
const axisHeightPx = 36;
const barHeightPx = 18;
const nameWidthPx = 72;
/** For the figure behind a bar. Without one, for half of the last tick's text. */
const figureWidthPx = 56;
const tickWidthPx = 24;

export interface BarRow {
  readonly name: string;
  /** The end of the bar, or its beginning and its end. Or the parts of a bar that is stacked, in the order of the colors. */
  readonly bar: number | readonly [number, number] | { readonly parts: readonly number[] };
  /** Behind the bar. None where the bar has two ends. */
  readonly figure?: string;
  /** The row in words. */
  readonly text: string;
}

interface Props {
  readonly title: string;
  readonly rows: readonly BarRow[];
  /** Of the bar, or of each of its parts. */
  readonly color: string | readonly string[];
  readonly scale?: 'linear' | 'log';
  readonly ticks?: readonly number[];
  readonly tickText: (value: number) => string;
}

export function BarRows({ title, rows, color, scale = 'linear', ticks, tickText }: Props) {
  const hasFigures = rows.some(({ figure }) => figure !== undefined);
  return (
    <div
      role="img"
      aria-label={`${title}. ${rows.map(({ text }) => text).join('. ')}.`}
      className="chart rows"
      style={{ height: rows.length * rowHeightPx + axisHeightPx }}
    >
      <ResponsiveContainer width="100%" height="100%">
        <BarChart
          data={[...rows]}
          layout="vertical"
          accessibilityLayer={false}
          margin={{ top: 0, bottom: 0, left: 0, right: hasFigures ? figureWidthPx : tickWidthPx }}
        >
          <CartesianGrid horizontal={false} stroke="var(--chart-grid)" />
          <XAxis
            type="number"
            scale={scale}
            domain={ticks === undefined ? [0, 'auto'] : [ticks[0] ?? 0, ticks.at(-1) ?? 0]}
            {...(ticks === undefined ? {} : { ticks: [...ticks] })}
            allowDecimals={ticks !== undefined}
            tickFormatter={tickText}
            tickLine={false}
            axisLine={false}
            minTickGap={12}
          />
          <YAxis
            type="category"
            dataKey="name"
            width={nameWidthPx}
            interval={0}
            tickLine={false}
            axisLine={{ stroke: 'var(--chart-grid)' }}
          />
          <Tooltip
            cursor={{ fill: 'var(--chart-grid)', opacity: 0.5 }}
            isAnimationActive={false}
            content={({ payload }) => (
              <RowTooltip row={payload[0]?.payload as BarRow | undefined} />
            )}
          />
          {typeof color === 'string' ? (
            <Bar
              dataKey="bar"
              fill={color}
              isAnimationActive={false}
              barSize={barHeightPx}
              minPointSize={3}
            >
              {hasFigures ? <LabelList dataKey="figure" position="right" /> : null}
            </Bar>
          ) : (
            color.map((fill, part) => (
              <Bar
                key={fill}
                dataKey={(row: BarRow) => partOf(row, part)}
                stackId="parts"
                fill={fill}
                isAnimationActive={false}
                barSize={barHeightPx}
              />
            ))
          )}
        </BarChart>
      </ResponsiveContainer>
    </div>
  );
}

function partOf({ bar }: BarRow, part: number): number {
  return typeof bar === 'object' && 'parts' in bar ? (bar.parts[part] ?? 0) : 0;
}

function RowTooltip({ row }: { readonly row: BarRow | undefined }): ReactNode {
  return row === undefined ? null : <div className="chart-tooltip">{row.text}</div>;
}
