/** Requests money from somebody, or sends it. */
import { Alert, Button, Group, NativeSelect, SimpleGrid, Textarea, TextInput } from '@mantine/core';
import type { DashboardApi } from '@pis/dashboard/api';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiFailure, call } from '../api.js';
import { approvalSettingsQuery } from '../approvals/waiting-approvals.js';
import { Form } from '../form.js';
import { amountMinorOf, directionNames, money, nameOf, recipientTypes } from '../format.js';
import { contactQuery } from '../parties/party-queries.js';
import { originatorChoices, queryClient } from '../queries.js';
import { FormProblem, LoadFailed, PageHeader } from '../ui.js';
import { newRecipient, RecipientChoice, recipientChoices } from './recipient-choice.js';

const noteMax = 500;

const empty = {
  originatorId: '',
  direction: 'INBOUND',
  recipient: newRecipient,
  entityType: 'INDIVIDUAL',
  firstName: '',
  lastName: '',
  companyName: '',
  amount: '',
  note: '',
};
type Fields = typeof empty;
type Body = DashboardApi['createPayment']['body'];

const optionsOf = (names: Readonly<Record<string, string>>) =>
  Object.entries(names).map(([value, label]) => ({ value, label }));

export function NewPaymentPage() {
  const search = useSearch({ from: '/shell/payments/new' });
  const { contactId = '' } = search;
  const originators = useQuery(originatorChoices);
  const asked = useQuery({ ...contactQuery(contactId), enabled: contactId !== '' });
  const originatorId =
    asked.data?.contact.originatorId ?? originators.data?.[0]?.originatorId ?? '';
  // The form begins with the recipients of its originator.
  const isKnown = originators.data !== undefined && (contactId === '' || asked.data !== undefined);
  const choices = useQuery({ ...recipientChoices(originatorId, ''), enabled: isKnown });
  // A later failure does not take the form away: another form would pay again what this one may have paid.
  const failed = [originators, asked, choices].find(({ isLoadingError }) => isLoadingError);
  const retry = () => {
    for (const query of [originators, asked, choices]) if (query.isError) void query.refetch();
  };
  return (
    <>
      <PageHeader title="New payment" />
      {failed?.error ? (
        <LoadFailed error={failed.error} retry={retry} />
      ) : originators.data === undefined || choices.data === undefined ? null : (
        <PaymentForm
          originators={originators.data}
          initial={{
            ...empty,
            originatorId,
            direction: search.direction ?? empty.direction,
            recipient: contactId === '' ? newRecipient : contactId,
          }}
        />
      )}
    </>
  );
}

interface FormProps {
  readonly originators: DashboardApi['listOriginators']['data'];
  readonly initial: Fields;
}

/** Only amounts have a greatest value here. */
const refusedAmount = {
  validation_max: 'No bank rail of yours moves that much. A payer also pays the processing fee.',
} as const;

function PaymentForm({ originators, initial }: FormProps) {
  const navigate = useNavigate();
  const [form, setForm] = useState(initial);
  // One for the whole form: pressing the button twice creates one payment.
  const [idempotencyKey] = useState(() => crypto.randomUUID());
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({});
  const create = useMutation({
    mutationFn: (body: Body) => call('createPayment', { body }),
    onSuccess: async (created) => {
      if ('approvalId' in created) {
        const { approvalId } = created;
        await queryClient.invalidateQueries({ queryKey: ['approvals'] });
        await navigate({ to: '/approvals/$approvalId', params: { approvalId }, replace: true });
        return;
      }
      const { paymentId } = created;
      await queryClient.invalidateQueries({ queryKey: ['payments'] });
      await navigate({ to: '/payments/$paymentId', params: { paymentId }, replace: true });
    },
  });
  const set = (change: Partial<Fields>) => {
    setForm((before) => ({ ...before, ...change }));
    setProblems({});
    create.reset();
  };
  const submit = () => {
    const found = problemsOf(form);
    setProblems(found);
    if (Object.keys(found).length === 0) create.mutate(bodyOf(form, idempotencyKey));
  };
  const failure = create.error instanceof ApiFailure ? create.error : null;
  const problemOf = (field: string, sentAs = field): string | null =>
    problems[field] ?? failure?.problemOf(sentAs, refusedAmount) ?? null;
  const isNew = form.recipient === newRecipient;
  const limit = useApprovalLimit(form.amount);

  return (
    <Form className="card narrow" sending={create} submit={submit}>
      {failure !== null && failure.problems.length === 0 ? <FormProblem error={failure} /> : null}
      <SimpleGrid cols={{ base: 1, xs: 2 }} verticalSpacing="md">
        <NativeSelect
          label="Originator"
          data={originators.map((one) => ({
            value: one.originatorId,
            label: nameOf(one) ?? one.originatorId,
          }))}
          value={form.originatorId}
          error={problemOf('originatorId')}
          onChange={({ currentTarget }) =>
            set({ originatorId: currentTarget.value, recipient: newRecipient })
          }
        />
        <NativeSelect
          label="Direction"
          data={optionsOf(directionNames)}
          value={form.direction}
          error={problemOf('direction')}
          onChange={({ currentTarget }) => set({ direction: currentTarget.value })}
        />
      </SimpleGrid>
      <RecipientChoice
        originatorId={form.originatorId}
        direction={form.direction}
        value={form.recipient}
        problem={problemOf('recipient', 'recipient.contactId')}
        needsApproval={limit !== null}
        onChange={(recipient) => set({ recipient })}
      />
      {isNew ? <NewRecipient form={form} set={set} problemOf={problemOf} /> : null}
      <TextInput
        label="Amount"
        inputMode="decimal"
        placeholder="0.00"
        leftSection="$"
        value={form.amount}
        error={problemOf('amount', 'paymentAmount')}
        onChange={({ currentTarget }) => set({ amount: currentTarget.value })}
      />
      <Textarea
        label="Note"
        rows={2}
        maxLength={noteMax}
        value={form.note}
        error={problemOf('note', 'paymentNote')}
        onChange={({ currentTarget }) => set({ note: currentTarget.value })}
      />
      <NeedsApproval above={limit} />
      <Group justify="flex-end" mt="xs">
        <Button variant="default" onClick={() => void navigate({ to: '/payments' })}>
          Back
        </Button>
        <Button type="submit" loading={create.isPending}>
          Create payment
        </Button>
      </Group>
    </Form>
  );
}

/** The limit that the amount is above: then it needs an approval. Whether it is needed is decided by the server. */
function useApprovalLimit(amount: string): number | null {
  const { data: settings } = useQuery(approvalSettingsQuery);
  const amountMinor = amountMinorOf(amount);
  const amountAbove = settings?.amountAbove ?? null;
  return amountAbove !== null && amountMinor !== null && amountMinor > amountAbove
    ? amountAbove
    : null;
}

/** Said before it is sent. */
function NeedsApproval({ above }: { readonly above: number | null }) {
  return (
    <div role="status">
      {above === null ? null : (
        <Alert color="yellow" variant="light" title="This payment needs an approval">
          It is above {money(above)}. It is created once a second person has approved it.
        </Alert>
      )}
    </div>
  );
}

interface RecipientProps {
  readonly form: Fields;
  readonly set: (change: Partial<Fields>) => void;
  readonly problemOf: (field: string, sentAs?: string) => string | null;
}

function NewRecipient({ form, set, problemOf }: RecipientProps) {
  const isBusiness = form.entityType === 'BUSINESS';
  return (
    <>
      <NativeSelect
        label="Recipient type"
        data={optionsOf(recipientTypes)}
        value={form.entityType}
        error={problemOf('entityType', 'recipient.entityType')}
        onChange={({ currentTarget }) => set({ entityType: currentTarget.value })}
      />
      {isBusiness ? (
        <TextInput
          label="Company name"
          autoComplete="off"
          value={form.companyName}
          error={problemOf('companyName', 'recipient.companyName')}
          onChange={({ currentTarget }) => set({ companyName: currentTarget.value })}
        />
      ) : (
        <SimpleGrid cols={{ base: 1, xs: 2 }} verticalSpacing="md">
          <TextInput
            label="First name"
            autoComplete="off"
            value={form.firstName}
            error={problemOf('firstName', 'recipient.firstName')}
            onChange={({ currentTarget }) => set({ firstName: currentTarget.value })}
          />
          <TextInput
            label="Last name"
            autoComplete="off"
            value={form.lastName}
            error={problemOf('lastName', 'recipient.lastName')}
            onChange={({ currentTarget }) => set({ lastName: currentTarget.value })}
          />
        </SimpleGrid>
      )}
    </>
  );
}

/** What can be said without the server, by field. */
function problemsOf(form: Fields): Readonly<Record<string, string>> {
  const isNew = form.recipient === newRecipient;
  const names = form.entityType === 'BUSINESS' ? ['companyName'] : ['firstName', 'lastName'];
  const missing = (isNew ? (names as (keyof Fields)[]) : []).filter(
    (name) => form[name].trim() === '',
  );
  return {
    ...Object.fromEntries(missing.map((name) => [name, 'Fill in this field.'])),
    ...(form.originatorId === '' ? { originatorId: 'There is no originator to pay from.' } : {}),
    ...(amountMinorOf(form.amount) === null
      ? { amount: 'Enter an amount in dollars, such as 1,234.56.' }
      : {}),
  };
}

function bodyOf(form: Fields, idempotencyKey: string): Body {
  const { originatorId, direction, recipient, entityType, note } = form;
  const isBusiness = entityType === 'BUSINESS';
  return {
    originatorId,
    direction: direction as Body['direction'],
    recipient:
      recipient === newRecipient
        ? {
            entityType,
            ...(isBusiness
              ? { companyName: form.companyName.trim() }
              : { firstName: form.firstName.trim(), lastName: form.lastName.trim() }),
          }
        : { contactId: recipient },
    // Checked before.
    paymentAmount: amountMinorOf(form.amount) ?? 0,
    ...(note.trim() === '' ? {} : { paymentNote: note.trim() }),
    idempotencyKey,
  };
}
