/** The most frequent reasons of returns. The table beside it has all of them. */
import type { Overview } from '@pis/dashboard/api';
import { BarRows } from './bar-rows.js';
import { countText } from './figures.js';

/** More bars would be longer than a screen. */
const reasonsMax = 8;

export function ReturnsChart({ returns }: { readonly returns: Overview['returns'] }) {
  const rows = returns.slice(0, reasonsMax).map(({ returnReasonCode, reason, payments }) => {
    const name = returnReasonCode ?? 'No code';
    const words = reason === null ? name : `${name} ${reason}`;
    return {
      name,
      bar: payments,
      figure: payments.toLocaleString('en-US'),
      text: `${words}: ${countText(payments, 'payment')}`,
    };
  });
  return (
    <BarRows
      title="Returns by reason"
      rows={rows}
      color="var(--chart-return)"
      tickText={(value) => value.toLocaleString('en-US')}
    />
  );
}
