/** The page of a link that was used: the status of its payment. The script replaces the live part. */
import type { Language } from '../language.js';
import type { LinkPayment } from '../link-pages.js';
import { textsIn } from '../texts/texts-in.js';
import type { ShownStatus, Texts } from '../texts/texts.js';
import { timeText } from '../format.js';
import { PaymentFacts } from './payment-facts.js';

export interface UsedLinkProps {
  readonly language: Language;
  readonly payment: LinkPayment;
  /** Whether this is the answer to a second submission. */
  readonly isRefusal: boolean;
}

export function UsedLink({ language, payment, isRefusal }: UsedLinkProps) {
  const texts = textsIn[language];
  return (
    <>
      <h1>{texts.status.heading}</h1>
      {isRefusal ? (
        <p className="notice problem" role="alert">
          {texts.status.alreadySubmitted}
        </p>
      ) : null}
      <div aria-live="polite" data-live>
        <LiveStatus language={language} payment={payment} />
      </div>
      <PaymentFacts payment={payment} texts={texts} showsExpiry={false} />
      <p className="again">
        <a href={`?lang=${language}`} data-again>
          {texts.status.refresh}
        </a>
      </p>
    </>
  );
}

/** No further status follows, or only a rare one. */
const settled: readonly ShownStatus[] = ['COMPLETED', 'FAILED', 'BLOCKED', 'RETURNED'];

export function LiveStatus({ language, payment }: Pick<UsedLinkProps, 'language' | 'payment'>) {
  const texts: Texts = textsIn[language];
  const status = shownStatus(payment);
  return (
    <div
      className={`status ${toneOf[status]}`}
      data-status={status}
      {...(settled.includes(status) ? { 'data-settled': true } : {})}
    >
      <p className="name">
        <span className="visually-hidden">{texts.status.current}: </span>
        <strong>{texts.status.names[status]}</strong>
      </p>
      <p>{texts.status.explanations(payment.direction)[status]}</p>
      <p className="hint">
        {texts.status.updated}{' '}
        <time dateTime={payment.statusAt}>{timeText(payment.statusAt, texts.locale)}</time>
      </p>
    </div>
  );
}

const toneOf = {
  QUEUED: 'waiting',
  PROCESSING: 'waiting',
  COMPLETED: 'good',
  FAILED: 'bad',
  FAILED_IN_FLIGHT: 'doubtful',
  BLOCKED: 'bad',
  RETURNED: 'bad',
} as const satisfies Record<ShownStatus, string>;

function shownStatus({ status }: LinkPayment): ShownStatus {
  if (status === 'AWAITING_CONFIRMATION' || status === 'CANCELED')
    throw new Error(`a link with a payment that is ${status} was not used`);
  return status;
}
