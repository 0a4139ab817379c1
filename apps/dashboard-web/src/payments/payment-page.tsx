/** One payment with all that is known of it, and what may be done with it. */
import { Alert, Stack, Text } from '@mantine/core';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { call } from '../api.js';
import { Confirmation } from '../confirmation.js';
import { directionNames, labelOf, money, type Named, nameOf, recipientTypes } from '../format.js';
import { usePolling } from '../live.js';
import { meQuery, queryClient } from '../queries.js';
import { Fact, LoadFailed, PageHeader, PageLoading, Section, StatusBadge, Time } from '../ui.js';
import { Copyable } from '../values.js';
import { PaymentLinkSection } from './payment-link.js';
import { DeliverySection, TimelineSection } from './payment-history.js';
import { MovementSection } from './payment-movements.js';
import { BankSection, RailSection } from './payment-rail.js';
import { SimulationSection } from './payment-simulation.js';
import { failureAdvice, type PaymentPageData } from './payment-words.js';
import './payments.css';

type Payment = PaymentPageData['payment'];

const refreshMs = 5_000;
/** Visits of a link are no events, and neither is its expiry: no live update tells of them. */
const openLinkMs = 15_000;

const paymentQuery = (paymentId: string) =>
  queryOptions({
    queryKey: ['payments', 'one', paymentId],
    queryFn: ({ signal }) => call('getPayment', { ids: { paymentId }, signal }),
  });

export function PaymentPage() {
  const { paymentId } = useParams({ from: '/shell/payments/$paymentId' });
  const { data: me } = useQuery(meQuery);
  const pollMs = usePolling(refreshMs);
  const page = useQuery({
    ...paymentQuery(paymentId),
    refetchInterval: ({ state: { data } }) =>
      pollMs || (data?.link?.state === 'open' && openLinkMs),
  });
  if (page.isError && page.data === undefined)
    return (
      <>
        <PageHeader title="Payment" />
        <LoadFailed error={page.error} retry={() => void page.refetch()} />
      </>
    );
  if (page.data === undefined) return <PageLoading title="Payment" />;
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
        <Facts page={page.data} />
        {link === null ? null : (
          <PaymentLinkSection paymentId={paymentId} link={link} mayShow={mayAct} />
        )}
        <SimulationSection paymentId={paymentId} simulation={page.data.simulation} />
        <TimelineSection entries={page.data.timeline} />
        {mayAct ? (
          <Text size="sm" className="fact">
            Download evidence:{' '}
            <a href={`/dashboard/api/payments/${paymentId}/evidence`} download>
              one page
            </a>
            {', '}
            <a href={`/dashboard/api/payments/${paymentId}/evidence?format=pdf`} download>
              PDF with proofs
            </a>
          </Text>
        ) : null}
        <MovementSection movements={page.data.movements} />
        <RailSection page={page.data} />
        <BankSection page={page.data} />
        <DeliverySection deliveries={page.data.deliveries} />
      </Stack>
    </>
  );
}

function Facts({ page }: { readonly page: PaymentPageData }) {
  const { payment, link, approval, returned, returnReason } = page;
  return (
    <Section title="Details">
      <dl className="facts">
        <Fact name="Status">
          <StatusBadge status={payment.status} />
        </Fact>
        <Fact name="Direction">{labelOf(directionNames, payment.direction)}</Fact>
        <Fact name="Originator">{partyName(payment.originator)}</Fact>
        <Fact name="Counterparty">
          {payment.contact === null ? holderText(link?.holder ?? null) : partyName(payment.contact)}
        </Fact>
        <Fact name="Created">
          <Time at={payment.createdAt} />
        </Fact>
        {payment.contact?.bankAccount ? (
          <Fact name="Account">
            {payment.contact.bankAccount.bankName} {payment.contact.bankAccount.achAccountNumber}
          </Fact>
        ) : null}
        <Fact name="Fees">{feesText(payment)}</Fact>
        {returned === null || returned.kept === 0 ? null : (
          <Fact name="Came back">
            {money(returned.amount)}. Banks on the way kept {money(returned.kept)}.
          </Fact>
        )}
        {payment.paymentNote === null ? null : <Fact name="Note">{payment.paymentNote}</Fact>}
        {payment.externalPaymentId === null ? null : (
          <Fact name="Your reference">{payment.externalPaymentId}</Fact>
        )}
        {approval === null ? null : (
          <Fact name="Approval">
            Requested by {approval.requestedBy.email ?? approval.requestedBy.userId}, approved by{' '}
            {approval.approvedBy.email ?? approval.approvedBy.userId}
          </Fact>
        )}
        <Fact name="Payment ID">
          <Copyable value={payment.paymentId} name="the payment ID" />
        </Fact>
      </dl>
      <Failure payment={payment} />
      {returnReason === null ? null : (
        <Alert
          mt="md"
          color="orange"
          variant="light"
          title={`Returned: ${returnReason.code}${returnReason.title === null ? '' : `, ${returnReason.title}`}`}
        >
          {returnReason.advice ?? 'Ask your bank or the counterparty what to do about it.'}
        </Alert>
      )}
    </Section>
  );
}

const endedUnpaid: readonly string[] = ['FAILED', 'BLOCKED', 'CANCELED'];

/** Fees are fixed from the beginning. They are due once the payment is completed, that of a return once it is returned. */
function feesText({ discountFee, flatFee, returnFee, status }: Payment): string {
  if (endedUnpaid.includes(status)) return 'None: no money moved';
  const fees = money(discountFee + flatFee);
  const due = status === 'RETURNED' ? 'for the return' : 'if it is returned';
  return returnFee > 0 ? `${fees} and ${money(returnFee)} ${due}` : fees;
}

/** Why it failed, or why its outcome is open, and what to do about it. */
function Failure({ payment }: { readonly payment: Payment }) {
  const { failureCode, failureMessage, failureReason, status } = payment;
  const text = failureMessage ?? failureReason;
  if (text === null) return null;
  const isOpen = status === 'FAILED_IN_FLIGHT';
  return (
    <Alert
      mt="md"
      color={isOpen ? 'yellow' : 'red'}
      variant="light"
      title={isOpen ? 'The outcome is not known yet' : 'Why it failed'}
    >
      {text}{' '}
      {isOpen
        ? 'Do not create it again: the bank may still have executed it.'
        : failureCode !== null && failureAdvice(failureCode)}
    </Alert>
  );
}

function partyName(party: Named & Pick<Payment['originator'], 'entityType'>): string {
  const type = labelOf(recipientTypes, party.entityType).toLowerCase();
  const name = nameOf(party);
  return name === null ? 'Erased' : `${name} (${type})`;
}

/** As long as nobody has confirmed: the name that the requester entered. */
function holderText(holder: NonNullable<PaymentPageData['link']>['holder'] | null): string {
  return holder === null ? 'Erased' : `${partyName(holder)}, not confirmed`;
}

function Cancellation({ paymentId }: { readonly paymentId: string }) {
  return (
    <Confirmation
      button="Cancel payment"
      title="Cancel this payment?"
      text="The link stops working at once. This cannot be undone."
      confirm="Yes, cancel it"
      isDangerous
      act={async () => {
        await call('cancelPayment', { ids: { paymentId } });
        await queryClient.invalidateQueries({ queryKey: ['payments'] });
      }}
    />
  );
}
