/** Above which amount a payment needs a second person. Administrators change it. */
import { Button, Group, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiFailure, call } from '../api.js';
import { Form } from '../form.js';
import { amountMinorOf, money } from '../format.js';
import { queryClient } from '../queries.js';
import { FormProblem, LoadFailed } from '../ui.js';
import { approvalSettingsQuery } from './waiting-approvals.js';

const centsPerDollar = 100;

export function ApprovalSettingsSection({ mayChange }: { readonly mayChange: boolean }) {
  const settings = useQuery(approvalSettingsQuery);
  const [isOpen, { open, close }] = useDisclosure(false);
  if (settings.isLoadingError)
    return <LoadFailed error={settings.error} retry={() => void settings.refetch()} />;
  if (settings.data === undefined) return null;
  const { amountAbove } = settings.data;
  return (
    <section className="card" aria-label="Amount for approvals">
      {isOpen ? (
        <AmountForm amountAbove={amountAbove} close={close} />
      ) : (
        <Group justify="space-between" gap="sm">
          <Text size="sm">
            {amountAbove === null
              ? 'No payment needs an approval.'
              : `A payment of more than ${money(amountAbove)} needs the approval of a second person.`}
          </Text>
          {mayChange ? (
            <Button variant="default" size="xs" onClick={open}>
              Change amount
            </Button>
          ) : null}
        </Group>
      )}
    </section>
  );
}

function AmountForm({
  amountAbove,
  close,
}: {
  readonly amountAbove: number | null;
  readonly close: () => void;
}) {
  const [text, setText] = useState(
    amountAbove === null ? '' : (amountAbove / centsPerDollar).toFixed(2),
  );
  const [problem, setProblem] = useState<string | null>(null);
  const change = useMutation({
    mutationFn: (amount: number | null) =>
      call('changeApprovalSettings', { body: { amountAbove: amount } }),
    onSuccess: (settings) => {
      queryClient.setQueryData(approvalSettingsQuery.queryKey, settings);
      close();
    },
  });
  const submit = () => {
    const amount = text.trim() === '' ? null : centsOf(text);
    if (amount === undefined) setProblem('Enter an amount in dollars, such as 1,234.56.');
    else change.mutate(amount);
  };
  const failure = change.error instanceof ApiFailure ? change.error : null;
  return (
    <Form sending={change} submit={submit} widthMax={420}>
      {failure?.problems.length === 0 ? <FormProblem error={failure} /> : null}
      <TextInput
        label="Approval above"
        description="Leave it empty if no payment needs an approval. Requests that wait stay as they are."
        inputMode="decimal"
        leftSection="$"
        data-autofocus
        autoFocus
        value={text}
        error={problem ?? failure?.problemOf('amountAbove') ?? null}
        onChange={({ currentTarget }) => {
          setText(currentTarget.value);
          setProblem(null);
          change.reset();
        }}
      />
      <Group gap="sm">
        <Button type="submit" loading={change.isPending}>
          Save amount
        </Button>
        <Button variant="default" onClick={close}>
          Back
        </Button>
      </Group>
    </Form>
  );
}

/** Also of zero: then every payment needs an approval. Undefined for what is no amount. */
function centsOf(text: string): number | undefined {
  if (/^\$?\s*0+(\.0{1,2})?$/.test(text.trim())) return 0;
  return amountMinorOf(text) ?? undefined;
}
