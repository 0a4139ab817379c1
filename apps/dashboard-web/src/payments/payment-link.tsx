/** The link of a payment: its URL for those who may send it, and who opened it. */
import { Badge, Button, CopyButton, Group, Stack, Text } from '@mantine/core';
import type { DashboardApi } from '@pis/dashboard/api';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../api.js';
import { money } from '../format.js';
import { LoadFailed, Section, Time } from '../ui.js';

type LinkData = NonNullable<DashboardApi['getPayment']['data']['link']>;

interface Props {
  readonly paymentId: string;
  readonly link: LinkData;
  readonly mayShow: boolean;
}

/**
 * Each call is recorded as a showing of the link: one for each visit of the page. The answer belongs to its visit, so a
 * later visit never shows it without a record of its own. The call takes no signal: an aborted one may be recorded
 * already, and React's strict mode would then make a second one for the same visit.
 */
const urlQuery = (paymentId: string, visit: string) =>
  queryOptions({
    queryKey: ['link', paymentId, visit],
    queryFn: () => call('showLink', { ids: { paymentId } }),
    staleTime: Infinity,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });

const stateTexts = {
  open: { label: 'Open', color: 'teal' },
  used: { label: 'Used', color: 'blue' },
  expired: { label: 'Expired', color: 'orange' },
  canceled: { label: 'Canceled', color: 'gray' },
} as const satisfies Record<LinkData['state'], { label: string; color: string }>;

export function PaymentLinkSection({ paymentId, link, mayShow }: Props) {
  const { label, color } = stateTexts[link.state];
  return (
    <Section title="Payment link">
      <Stack gap="md">
        <Group gap="xs">
          <Badge variant="light" color={color} radius="sm" tt="none">
            {label}
          </Badge>
          {link.state === 'canceled' ? null : (
            <Text size="sm" c="dimmed">
              {link.state === 'expired' ? 'Expired' : 'Expires'} <Time at={link.expiresAt} />
              {link.state !== 'expired' && link.payerFee > 0
                ? `. The payer pays ${money(link.payerFee)} on top.`
                : ''}
            </Text>
          )}
        </Group>
        {link.state === 'expired' ? (
          <Text size="sm">
            Nobody can confirm any more. Cancel the payment and create a new one.
          </Text>
        ) : null}
        {mayShow && link.state === 'open' ? (
          <Text size="sm">
            Send this URL to the recipient. Nobody else does: the service sends no links.
          </Text>
        ) : null}
        {mayShow && link.state !== 'canceled' ? (
          <LinkUrl key={paymentId} paymentId={paymentId} />
        ) : null}
        <Accesses link={link} seesVisitors={mayShow} />
      </Stack>
    </Section>
  );
}

function LinkUrl({ paymentId }: { readonly paymentId: string }) {
  const [visit] = useState(() => crypto.randomUUID());
  const shown = useQuery(urlQuery(paymentId, visit));
  if (shown.isLoadingError)
    return <LoadFailed error={shown.error} retry={() => void shown.refetch()} />;
  if (shown.data === undefined) return null;
  const { url, qrCode } = shown.data;
  return (
    <Group align="flex-start" gap="lg" className="link">
      <Stack gap="sm" flex={1} miw={0}>
        <code className="link-url">{url}</code>
        <CopyButton value={url}>
          {({ copied, copy }) => (
            <Button variant="default" size="xs" w="fit-content" onClick={copy}>
              {copied ? 'Copied' : 'Copy the URL'}
            </Button>
          )}
        </CopyButton>
      </Stack>
      <img
        className="qr"
        alt="QR code of the URL"
        src={`data:image/svg+xml;utf8,${encodeURIComponent(qrCode)}`}
      />
    </Group>
  );
}

const kinds = { open: 'Opened', submit: 'Submitted', show: 'Shown here' } as const;

type Access = LinkData['accesses'][number];

function Accesses({
  link,
  seesVisitors,
}: {
  readonly link: LinkData;
  readonly seesVisitors: boolean;
}) {
  if (link.accesses.length === 0)
    return (
      <Text size="sm" c="dimmed">
        {link.state === 'open' ? 'Nobody has opened it yet.' : 'Nobody opened it.'}
      </Text>
    );
  return (
    <table className="list plain accesses">
      <thead>
        <tr>
          <th scope="col">Access</th>
          <th scope="col">Time</th>
          <th scope="col">Who</th>
        </tr>
      </thead>
      <tbody>
        {link.accesses.map((access, index) => (
          <tr key={index} className="row">
            <td>
              {kinds[access.kind]}
              {resultOf(access)}
              {access.count === 1 ? '' : `, ${access.count} times`}
            </td>
            <td>
              <Time at={access.at} />
              {access.lastAt === access.at ? null : (
                <>
                  {' to '}
                  <Time at={access.lastAt} />
                </>
              )}
            </td>
            <td className="visitor">
              <div>{whoOf(access, seesVisitors)}</div>
              {access.visitor?.userAgent ? (
                <div className="user-agent">{access.visitor.userAgent}</div>
              ) : null}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A submission is recorded before it is made: without its result, the process may have died before or after. */
function resultOf({ kind, outcome }: Access): string {
  if (outcome !== null) return ` (${outcome.toLowerCase().replaceAll('_', ' ')})`;
  return kind === 'submit' ? ' (result not recorded)' : '';
}

/** An erasure takes the visitor. A viewer is never shown one. */
function whoOf({ visitor, actorEmail, actor }: Access, seesVisitors: boolean): string {
  const hidden = seesVisitors ? 'Not kept' : 'Not shown to your role';
  return visitor?.ip ?? actorEmail ?? actor ?? hidden;
}
