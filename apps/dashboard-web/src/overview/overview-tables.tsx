/** The overview's tables. */
import { Text } from '@mantine/core';
import type { Overview } from '@pis/dashboard/api';
import { Link } from '@tanstack/react-router';
import { money } from '../format.js';
import { lazy, Suspense } from 'react';
import { Section, Time } from '../ui.js';
import { durationText, rateText } from './figures.js';

const ReturnsChart = lazy(async () => ({ default: (await import('./charts.js')).ReturnsChart }));

export function RailTable({ rails }: { readonly rails: Overview['rails'] }) {
  if (rails.length === 0)
    return (
      <Section title="Rails">
        <Nothing text="No payment of the period has an outcome yet." />
      </Section>
    );
  return (
    <Section title="Rails">
      {/* Wider than a phone: it scrolls, and the page does not. */}
      <div className="scroll-x" tabIndex={0} role="group" aria-label="Rails">
        <table className="list plain">
          <thead>
            <tr>
              <th scope="col">Rail</th>
              <th scope="col" className="amount">
                Success rate
              </th>
              <th scope="col" className="amount">
                Completed
              </th>
              <th scope="col" className="amount">
                Returned
              </th>
              <th scope="col" className="amount">
                Failed
              </th>
              <th scope="col" className="amount">
                In doubt
              </th>
              <th scope="col" className="amount">
                Median time
              </th>
              <th scope="col" className="amount">
                95 % within
              </th>
            </tr>
          </thead>
          <tbody>
            {rails.map((rail) => (
              <tr key={rail.paymentRail}>
                <th scope="row">{rail.paymentRail}</th>
                <td className="amount">{rateText(rail.successRate ?? 0)}</td>
                <td className="amount">{rail.completed.toLocaleString('en-US')}</td>
                <td className="amount">{rail.returned.toLocaleString('en-US')}</td>
                <td className="amount">{rail.failed.toLocaleString('en-US')}</td>
                <td className="amount">{rail.inDoubt.toLocaleString('en-US')}</td>
                <td className="amount">{timeOf(rail.medianMs)}</td>
                <td className="amount">{timeOf(rail.p95Ms)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  );
}

function timeOf(durationMs: number | null): string {
  return durationMs === null ? '–' : durationText(durationMs);
}

export function ReturnTable({ returns }: { readonly returns: Overview['returns'] }) {
  return (
    <Section title="Returns by reason">
      {returns.length === 0 ? (
        <Nothing text="No payment of the period was returned." />
      ) : (
        <>
          <Suspense fallback={<div className="chart" aria-busy />}>
            <ReturnsChart returns={returns} />
          </Suspense>
          <table className="list plain">
            <thead>
              <tr>
                <th scope="col">Reason</th>
                <th scope="col" className="amount">
                  Payments
                </th>
                <th scope="col" className="amount">
                  Amount
                </th>
              </tr>
            </thead>
            <tbody>
              {returns.map(({ returnReasonCode, reason, payments, amount }) => (
                <tr key={returnReasonCode}>
                  <td title={reason ?? undefined}>
                    {returnReasonCode === null ? 'The bank gave no code' : returnReasonCode}
                    {reason === null ? null : ` · ${reason}`}
                  </td>
                  <td className="amount">{payments.toLocaleString('en-US')}</td>
                  <td className="amount">{money(amount)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </>
      )}
    </Section>
  );
}

export function FailingEndpoints({
  endpoints,
}: {
  readonly endpoints: Overview['failingEndpoints'];
}) {
  return (
    <Section title="Failing webhooks">
      {endpoints.length === 0 ? (
        <Nothing text="No endpoint fails." />
      ) : (
        <table className="list plain">
          <thead>
            <tr>
              <th scope="col">Endpoint</th>
              <th scope="col">Since</th>
            </tr>
          </thead>
          <tbody>
            {endpoints.map(({ webhookId, url, failingSince }) => (
              <tr key={webhookId}>
                <td>
                  <Link to="/webhooks/$webhookId" params={{ webhookId }}>
                    {url}
                  </Link>
                </td>
                <td>
                  <Time at={failingSince} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Section>
  );
}

function Nothing({ text }: { readonly text: string }) {
  return (
    <Text size="sm" c="dimmed">
      {text}
    </Text>
  );
}
