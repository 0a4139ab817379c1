/** The body of a delivery and its attempts, on its own page and on that of its payment. */
import { Text } from '@mantine/core';
import type { DashboardApi } from '@pis/dashboard/api';
import { Copy, ExactTime } from '../values.js';
import './webhooks.css';

export type DeliveryData = DashboardApi['getDelivery']['data'];
type Attempt = DeliveryData['attempts'][number];

export function DeliveryBody({ body }: { readonly body: string | null }) {
  if (body === null)
    return (
      <Text size="sm" c="dimmed">
        The body is not kept any more.
      </Text>
    );
  return (
    <div>
      {/* Focusable, so that it can be scrolled without a pointer. */}
      <pre className="bytes" tabIndex={0} aria-label="Body">
        {readable(body)}
      </pre>
      <Text size="xs" c="dimmed">
        Line breaks are added for reading. <Copy value={body} name="the body as it was sent" />
      </Text>
    </div>
  );
}

function readable(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

export function Attempts({ attempts }: { readonly attempts: readonly Attempt[] }) {
  if (attempts.length === 0)
    return (
      <Text size="sm" c="dimmed">
        No attempt was made yet.
      </Text>
    );
  return (
    <ol className="attempts" reversed>
      {attempts.toReversed().map((attempt) => (
        <AttemptItem key={`${attempt.at}/${attempt.attempt}`} attempt={attempt} />
      ))}
    </ol>
  );
}

function AttemptItem({ attempt }: { readonly attempt: Attempt }) {
  const { statusCode, error, durationMs, responseExcerpt, headers } = attempt;
  const isAccepted = statusCode !== null && statusCode >= 200 && statusCode < 300;
  return (
    <li>
      <div className="attempt-line">
        <Text size="sm" fw={500}>
          Attempt {attempt.attempt}
        </Text>
        <Text size="sm" className={isAccepted ? 'accepted' : 'refused'}>
          {statusCode === null ? (error ?? 'No answer') : `Answered ${statusCode}`}
        </Text>
        <Text size="xs" c="dimmed">
          <ExactTime at={attempt.at} />, {durationMs.toLocaleString('en-US')} ms
        </Text>
      </div>
      {statusCode !== null && error !== null ? <Text size="xs">{error}</Text> : null}
      {responseExcerpt === null || responseExcerpt === '' ? null : (
        <details>
          <summary>Answer, its first KiB</summary>
          <pre className="bytes" tabIndex={0} aria-label="Answer">
            {responseExcerpt}
          </pre>
        </details>
      )}
      <details>
        <summary>Headers of the request</summary>
        <dl className="headers">
          {headers.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
        {attempt.signatureMissing === null ? null : (
          <Text size="xs" c="dimmed">
            {missing[attempt.signatureMissing]}
          </Text>
        )}
      </details>
    </li>
  );
}

const missing = {
  secret_replaced:
    'The signature is not shown: the secret was replaced since, or the body is gone.',
  endpoint_deleted: 'The signature is not shown: the secret was deleted with the endpoint.',
  not_permitted: 'The signature is shown to users who may send deliveries again.',
} as const satisfies Record<NonNullable<Attempt['signatureMissing']>, string>;
