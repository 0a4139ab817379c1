/** The money that moved on the originator's account, also what a return took back. */
import { money } from '../format.js';
import { Fact, Section, Time } from '../ui.js';
import { Copyable } from '../values.js';
import type { PaymentPageData } from './payment-words.js';

type Movement = PaymentPageData['movements'][number];

const names = {
  transfer: { credit: 'Received', debit: 'Sent' },
  return: { credit: 'Given back by the bank', debit: 'Taken back by the bank' },
} as const satisfies Record<Movement['kind'], Record<Movement['side'], string>>;

export function MovementSection({ movements }: { readonly movements: readonly Movement[] }) {
  if (movements.length === 0) return null;
  const returns = movements.filter(({ kind }) => kind === 'return');
  return (
    <Section title="Money">
      <dl className="facts">
        {movements.map(({ movementId, kind, side, amount, at }) => (
          <Fact key={movementId} name={names[kind][side]}>
            {money(amount)}, <Time at={at} />
          </Fact>
        ))}
        {/* That of the payment is among the references of the bank. */}
        {returns.map(({ movementId, reference }) => (
          <Fact key={movementId} name="Reference of the return">
            {reference === null ? (
              'The bank gave none'
            ) : (
              <Copyable value={reference} name="the reference of the return" />
            )}
          </Fact>
        ))}
      </dl>
    </Section>
  );
}
