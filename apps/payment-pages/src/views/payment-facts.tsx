/** Who pays whom how much, as the counterparty sees it. */
import type { ReactNode } from 'react';
import { amountText, timeText } from '../format.js';
import type { LinkPayment } from '../link-pages.js';
import type { Texts } from '../texts/texts.js';

interface FactsProps {
  readonly payment: LinkPayment;
  readonly texts: Texts;
  readonly showsExpiry: boolean;
}

/** The amount that the counterparty pays or receives, as text. */
export function totalText({ amountMinor, payerFeeMinor }: LinkPayment): string {
  return amountText(amountMinor + payerFeeMinor);
}

export function PaymentFacts({ payment, texts, showsExpiry }: FactsProps) {
  const { details, locale } = texts;
  const { direction, amountMinor, payerFeeMinor, paymentNote, bankName } = payment;
  const isRequest = direction === 'INBOUND';
  return (
    <dl className="facts">
      <Fact name={details.originator[direction]}>{payment.originatorName ?? details.erased}</Fact>
      <Fact name={details.holder}>{payment.holder?.name ?? details.erased}</Fact>
      {bankName === null ? null : <Fact name={details.bank}>{bankName}</Fact>}
      {paymentNote === null ? null : (
        <Fact name={details.note} kind="note">
          {paymentNote}
        </Fact>
      )}
      {showsExpiry ? (
        <Fact name={details.expires}>
          <time dateTime={payment.expiresAt}>{timeText(payment.expiresAt, locale)}</time>
        </Fact>
      ) : null}
      <Fact name={details.amount[direction]} kind={isRequest ? 'amount' : 'total'}>
        {amountText(amountMinor)}
      </Fact>
      {isRequest ? (
        <>
          <Fact name={details.fee} kind="amount">
            {amountText(payerFeeMinor)}
          </Fact>
          <Fact name={details.total} kind="total">
            {totalText(payment)}
          </Fact>
        </>
      ) : null}
    </dl>
  );
}

function Fact({
  name,
  kind = 'plain',
  children,
}: {
  readonly name: string;
  readonly kind?: 'plain' | 'note' | 'amount' | 'total';
  readonly children: ReactNode;
}) {
  return (
    <div className={`fact ${kind}`}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
