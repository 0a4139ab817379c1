/** One payment that needs a second person: what was asked for, by whom, and the decision. */
import { Alert, Button, Group, Modal, Stack, Text, Textarea } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { ApprovalPage as ApprovalPageData, Person } from '@pis/dashboard/api';
import { queryOptions, useMutation, useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiFailure, call } from '../api.js';
import { Confirmation, stayText } from '../confirmation.js';
import { Form } from '../form.js';
import { accountText } from '../parties/party-queries.js';
import { directionNames, labelOf, money, nameOf, recipientTypes } from '../format.js';
import { usePolling } from '../live.js';
import { queryClient } from '../queries.js';
import { Fact, FormProblem, LoadFailed, PageHeader, PageLoading, Section, Time } from '../ui.js';
import { ApprovalBadge } from './approval-list.js';
import { refusalText } from './refusal-text.js';

const refreshMs = 5_000;
const reasonMax = 500;

const approvalQuery = (approvalId: string) =>
  queryOptions({
    queryKey: ['approvals', 'one', approvalId],
    queryFn: ({ signal }) => call('getApproval', { ids: { approvalId }, signal }),
  });

/** Also after a refusal: somebody else may have been first. */
async function refresh(): Promise<void> {
  await Promise.all([
    queryClient.invalidateQueries({ queryKey: ['approvals'] }),
    queryClient.invalidateQueries({ queryKey: ['payments'] }),
  ]);
}

export function ApprovalPage() {
  const { approvalId } = useParams({ from: '/shell/approvals/$approvalId' });
  const page = useQuery({ ...approvalQuery(approvalId), refetchInterval: usePolling(refreshMs) });
  if (page.isError && page.data === undefined)
    return (
      <>
        <PageHeader title="Approval" />
        <LoadFailed error={page.error} retry={() => void page.refetch()} />
      </>
    );
  if (page.data === undefined) return <PageLoading title="Approval" />;
  const approval = page.data;
  return (
    <>
      <Text size="sm" mb="xs">
        <Link to="/approvals" className="back">
          Back to the list
        </Link>
      </Text>
      <PageHeader title={money(approval.paymentAmount)} action={<Actions approval={approval} />} />
      <Stack gap="md">
        <Outcome approval={approval} />
        <Request approval={approval} />
        <History approval={approval} />
      </Stack>
    </>
  );
}

const main = { variant: 'filled' } as const;

function Actions({ approval }: { readonly approval: ApprovalPageData }) {
  const { approvalId, mayDecide, mayWithdraw } = approval;
  if (mayWithdraw)
    return (
      <Confirmation
        button="Withdraw"
        isDangerous
        title="Withdraw this request?"
        text="Nobody can approve it any more. You can ask again with a new payment."
        confirm="Yes, withdraw it"
        act={() => call('withdraw', { ids: { approvalId } }).finally(refresh)}
      />
    );
  if (!mayDecide) return null;
  return (
    <Group gap="sm">
      <Rejection approvalId={approvalId} />
      <Confirmation
        button="Approve"
        look={main}
        title="Approve this payment?"
        text={approvalText(approval)}
        confirm="Yes, approve it"
        act={() => call('approve', { ids: { approvalId } }).finally(refresh)}
      />
    </Group>
  );
}

function approvalText({ direction, recipient, paymentAmount }: ApprovalPageData): string {
  const name = nameOf(recipient) ?? 'the recipient';
  const amount = money(paymentAmount);
  return direction === 'INBOUND'
    ? `A link that asks ${name} for ${amount} is created at once.`
    : recipient.bankAccount === null
      ? `A link that asks ${name} for the account to send ${amount} to is created at once.`
      : `${amount} is sent to ${name} at once.`;
}

function Rejection({ approvalId }: { readonly approvalId: string }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const [reason, setReason] = useState('');
  const [problem, setProblem] = useState<string | null>(null);
  const reject = useMutation({
    mutationFn: () => call('reject', { ids: { approvalId }, body: { reason: reason.trim() } }),
    onSuccess: close,
    onSettled: refresh,
  });
  const submit = () => {
    if (reason.trim() === '') setProblem('Say why, so that the other person can act on it.');
    else reject.mutate();
  };
  const failure = reject.error instanceof ApiFailure ? reject.error : null;
  return (
    <>
      <Button variant="default" color="red" onClick={open}>
        Reject
      </Button>
      <Modal
        opened={isOpen}
        onClose={close}
        title="Reject this payment?"
        closeButtonProps={{ 'aria-label': 'Close' }}
        centered
      >
        <Form sending={reject} submit={submit}>
          {failure?.problems.length === 0 ? <FormProblem error={failure} /> : null}
          <Textarea
            label="Reason"
            description="Everybody in the organization can read it. It is kept for good."
            rows={3}
            maxLength={reasonMax}
            data-autofocus
            value={reason}
            error={problem ?? failure?.problemOf('reason') ?? null}
            onChange={({ currentTarget }) => {
              setReason(currentTarget.value);
              setProblem(null);
              reject.reset();
            }}
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {stayText}
            </Button>
            <Button type="submit" color="red" loading={reject.isPending}>
              Yes, reject it
            </Button>
          </Group>
        </Form>
      </Modal>
    </>
  );
}

/** What the decision led to, or why nobody can decide. */
function Outcome({ approval }: { readonly approval: ApprovalPageData }) {
  const { state, paymentId, refusal, reason } = approval;
  switch (state) {
    case 'CREATED':
      return (
        <Alert color="teal" variant="light" title="The payment was created">
          {paymentId === null ? null : (
            <Link to="/payments/$paymentId" params={{ paymentId }}>
              Open the payment
            </Link>
          )}
        </Alert>
      );
    case 'APPROVED':
      return (
        <Alert color="blue" variant="light" title="The payment is being created">
          This takes a moment. It goes on by itself.
        </Alert>
      );
    case 'REFUSED':
      return (
        <Alert color="red" variant="light" title="The payment could not be created">
          {refusalText(refusal)} No money moves. Ask again with a new payment.
        </Alert>
      );
    case 'REJECTED':
      return (
        <Alert color="red" variant="light" title="Rejected">
          {reason}
        </Alert>
      );
    case 'EXPIRED':
      return (
        <Alert color="gray" variant="light" title="Expired">
          Nobody decided within seven days. Ask again with a new payment.
        </Alert>
      );
    case 'ENDED':
      return (
        <Alert color="gray" variant="light" title="Ended">
          The personal data of a party was erased.
        </Alert>
      );
    case 'WAITING':
    case 'WITHDRAWN':
      return null;
  }
}

function Request({ approval }: { readonly approval: ApprovalPageData }) {
  const { recipient } = approval;
  const name = nameOf(recipient);
  const type = labelOf(recipientTypes, recipient.entityType).toLowerCase();
  return (
    <Section title="What was asked for">
      <dl className="facts">
        <Fact name="State">
          <ApprovalBadge state={approval.state} />
        </Fact>
        <Fact name="Direction">{labelOf(directionNames, approval.direction)}</Fact>
        <Fact name="Originator">{approval.originatorName ?? 'Erased'}</Fact>
        <Fact name="Account of the originator">
          {accountText({ bankAccount: approval.originatorAccount }) ??
            (approval.originatorName === null ? 'Erased' : 'Changed since the request')}
        </Fact>
        <Fact name="Counterparty">{name === null ? 'Erased' : `${name} (${type})`}</Fact>
        <Fact name="Saved contact">{approval.contactId === null ? 'No' : 'Yes'}</Fact>
        <Fact name="Account of the counterparty">
          {accountText(recipient) ?? 'Asked for by a link'}
        </Fact>
        {approval.paymentNote === null ? null : <Fact name="Note">{approval.paymentNote}</Fact>}
        {approval.externalPaymentId === null ? null : (
          <Fact name="Your reference">{approval.externalPaymentId}</Fact>
        )}
      </dl>
    </Section>
  );
}

const decisions: Readonly<Record<string, string>> = {
  REJECTED: 'Rejected',
  WITHDRAWN: 'Withdrawn',
  ENDED: 'Ended',
};

function History({ approval }: { readonly approval: ApprovalPageData }) {
  const { state, requestedBy, requestedAt, decidedBy, decidedAt, expiresAt } = approval;
  const whose = state === 'WITHDRAWN' ? requestedBy : decidedBy;
  return (
    <Section title="Who decided">
      <ol className="timeline">
        <li>
          <Text size="sm" fw={500}>
            Requested
          </Text>
          <Text size="xs" c="dimmed">
            <Time at={requestedAt} /> by {personName(requestedBy)}
          </Text>
        </li>
        {decidedAt === null ? (
          <li>
            <Text size="sm" fw={500}>
              {state === 'EXPIRED' ? 'Expired' : 'Waits for a second person'}
            </Text>
            <Text size="xs" c="dimmed">
              {state === 'EXPIRED' ? '' : 'Until '}
              <Time at={expiresAt} />
            </Text>
          </li>
        ) : (
          <li>
            <Text size="sm" fw={500}>
              {decisions[state] ?? (whose === null ? 'Paid without an approval' : 'Approved')}
            </Text>
            <Text size="xs" c="dimmed">
              <Time at={decidedAt} />
              {whose === null ? null : ` by ${personName(whose)}`}
            </Text>
          </li>
        )}
      </ol>
    </Section>
  );
}

function personName({ email, userId }: Person): string {
  return email ?? userId;
}
