/** One payment with all that is known of it, and what may be done with it. */
import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { DashboardApi } from '@pis/dashboard/api';
import { queryOptions, useMutation, useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { call } from '../api.js';
import { directionNames, labelOf, money, nameOf, recipientTypes } from '../format.js';
import { meQuery, queryClient } from '../queries.js';
import { Fact, FormProblem, LoadFailed, PageHeader, Section, StatusBadge, Time } from '../ui.js';
import { PaymentLinkSection } from './payment-link.js';
import { DeliverySection, TimelineSection } from './payment-history.js';

export type PaymentPageData = DashboardApi['getPayment']['data'];
type Payment = PaymentPageData['payment'];

const refreshMs = 5_000;

export const paymentQuery = (paymentId: string) =>
  queryOptions({
    queryKey: ['payments', 'one', paymentId],
    queryFn: ({ signal }) => call('getPayment', { ids: { paymentId }, signal }),
    refetchInterval: refreshMs,
  });

export function PaymentPage() {
  const { paymentId } = useParams({ from: '/shell/payments/$paymentId' });
  const { data: me } = useQuery(meQuery);
  const page = useQuery(paymentQuery(paymentId));
  if (page.isError && page.data === undefined)
    return (
      <>
        <PageHeader title="Payment" />
        <LoadFailed error={page.error} retry={() => void page.refetch()} />
      </>
    );
  if (page.data === undefined) return <PageHeader title="Payment" />;
  const { payment, link } = page.data;
  const mayAct = me?.role !== 'viewer';

  return (
    <>
      <Text size="sm" mb="xs">
        <Link to="/payments" className="back">
          Back to the list
        </Link>
      </Text>
      <PageHeader
        title={money(payment.paymentAmount)}
        action={
          mayAct && payment.status === 'AWAITING_CONFIRMATION' ? (
            <Cancellation paymentId={paymentId} />
          ) : null
        }
      />
      <Stack gap="md">
        <Facts payment={payment} />
        {link === null ? null : (
          <PaymentLinkSection paymentId={paymentId} link={link} mayShow={mayAct} />
        )}
        <Settlement page={page.data} />
        <TimelineSection entries={page.data.timeline} />
        <DeliverySection deliveries={page.data.deliveries} />
      </Stack>
    </>
  );
}

function Facts({ payment }: { readonly payment: Payment }) {
  return (
    <Section title="Details">
      <dl className="facts">
        <Fact name="State">
          <StatusBadge status={payment.status} />
        </Fact>
        <Fact name="Kind">{labelOf(directionNames, payment.direction)}</Fact>
        <Fact name="From">{partyName(payment.originator)}</Fact>
        <Fact name="Counterparty">
          {payment.contact === null ? 'Not confirmed yet' : partyName(payment.contact)}
        </Fact>
        <Fact name="Created">
          <Time at={payment.createdAt} />
        </Fact>
        {payment.contact?.bankAccount ? (
          <Fact name="Account">
            {payment.contact.bankAccount.bankName} {payment.contact.bankAccount.achAccountNumber}
          </Fact>
        ) : null}
        <Fact name="Fees">
          {money(payment.discountFee + payment.flatFee)}
          {payment.returnFee > 0 ? ` and ${money(payment.returnFee)} for the return` : ''}
        </Fact>
        {payment.paymentNote === null ? null : <Fact name="Remark">{payment.paymentNote}</Fact>}
        {payment.externalPaymentId === null ? null : (
          <Fact name="Your reference">{payment.externalPaymentId}</Fact>
        )}
        {payment.failureMessage === null ? null : (
          <Fact name="Why it failed">{payment.failureMessage}</Fact>
        )}
        {payment.returnReasonCode === null ? null : (
          <Fact name="Return reason">{payment.returnReasonCode}</Fact>
        )}
        <Fact name="Payment ID">
          <code>{payment.paymentId}</code>
        </Fact>
      </dl>
    </Section>
  );
}

function partyName(party: Payment['originator']): string {
  const type = labelOf(recipientTypes, party.entityType).toLowerCase();
  const name = nameOf(party);
  return name === null ? 'Erased' : `${name} (${type})`;
}

/** Which rail, and why. */
function Settlement({ page }: { readonly page: PaymentPageData }) {
  const { payment, railDecision, railReference, connection } = page;
  if (railDecision === null && railReference === null) return null;
  return (
    <Section title="Rail">
      <dl className="facts">
        <Fact name="Rail">{railName(payment.paymentRail, railDecision?.achService ?? null)}</Fact>
        {railDecision?.expectedSettlementAt ? (
          <Fact name="Settles">
            <Time at={railDecision.expectedSettlementAt} />
          </Fact>
        ) : null}
        {railReference === null ? null : <Fact name="Bank reference">{railReference}</Fact>}
        {connection === null ? null : <Fact name="Connection">{connection}</Fact>}
        {(railDecision?.rejected ?? []).map(({ paymentRail, achService, code }) => (
          <Fact
            key={`${paymentRail}${achService ?? ''}`}
            name={`Not ${railName(paymentRail, achService)}`}
          >
            {words(code)}
          </Fact>
        ))}
      </dl>
    </Section>
  );
}

function railName(paymentRail: string, achService: string | null): string {
  return achService === null ? paymentRail : `${paymentRail} ${words(achService).toLowerCase()}`;
}

/** `Bank not reachable` of `bank_not_reachable`. */
function words(code: string): string {
  const text = code.replaceAll('_', ' ');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

function Cancellation({ paymentId }: { readonly paymentId: string }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const cancel = useMutation({
    mutationFn: () => call('cancelPayment', { ids: { paymentId } }),
    onSuccess: async () => {
      close();
      await queryClient.invalidateQueries({ queryKey: ['payments'] });
    },
  });
  return (
    <>
      <Button variant="default" color="red" onClick={open}>
        Cancel payment
      </Button>
      <Modal
        opened={isOpen}
        onClose={close}
        title="Cancel this payment?"
        closeButtonProps={{ 'aria-label': 'Close' }}
        centered
      >
        <Stack gap="md">
          <Text size="sm">The link stops working at once. This cannot be undone.</Text>
          <FormProblem error={cancel.error} />
          <Group justify="flex-end">
            <Button variant="default" onClick={close} data-autofocus>
              Keep it
            </Button>
            <Button color="red" loading={cancel.isPending} onClick={() => cancel.mutate()}>
              Yes, cancel it
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  );
}
