/** The page of a link that cannot be used: its account holder has a name that no bank can get, and it is fixed. */
import { railName } from '@pis/bank-rails';
import type { Language } from '../language.js';
import type { LinkPayment } from '../link-pages.js';
import { textsIn } from '../texts/texts-in.js';
import { PaymentFacts } from './payment-facts.js';

/** Links for such a name are not made any more. Earlier ones would fail after their submission. */
export function isUnpayable({ holder }: LinkPayment): boolean {
  return holder !== null && railName(holder.name) === null;
}

export function UnpayableLink({
  language,
  payment,
}: {
  readonly language: Language;
  readonly payment: LinkPayment;
}) {
  const texts = textsIn[language];
  const { heading, unpayable, erased } = texts.details;
  return (
    <>
      <h1>{heading}</h1>
      <p className="notice problem" role="alert">
        {unpayable(payment.originatorName ?? erased)}
      </p>
      <PaymentFacts payment={payment} texts={texts} showsExpiry={false} />
    </>
  );
}
