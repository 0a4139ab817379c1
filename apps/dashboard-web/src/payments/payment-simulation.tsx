/** What the simulated bank of the sandbox may be told to do with a payment. */
import { Button, Group, NativeSelect, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../api.js';
import { queryClient } from '../queries.js';
import { FormProblem, Section } from '../ui.js';
import type { PaymentPageData } from './payment-words.js';

type Simulation = NonNullable<PaymentPageData['simulation']>;
type Outcome = Simulation['outcomes'][number];

const names = {
  complete: 'Complete',
  return: 'Return',
  fail: 'Fail',
  time_out: 'Time out',
  late_confirm: 'Confirm late',
} as const satisfies Record<Outcome, string>;

interface Props {
  readonly paymentId: string;
  readonly simulation: Simulation | null;
}

/** Nothing where the state allows no outcome. */
export function SimulationSection({ paymentId, simulation }: Props) {
  const [code, setCode] = useState('R01');
  const simulate = useMutation({
    mutationFn: (outcome: Outcome) =>
      call('simulatePayment', {
        ids: { paymentId },
        body: {
          outcome,
          ...(outcome === 'return' && code !== '' ? { returnReasonCode: code } : {}),
        },
      }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['payments'] }),
  });
  if (simulation === null || simulation.outcomes.length === 0) return null;
  const { outcomes, returnReasons } = simulation;
  return (
    <Section title="Simulate">
      <Stack gap="md">
        <Text size="sm" c="dimmed">
          This is the sandbox: say what the bank does next. No money moves.
        </Text>
        <FormProblem error={simulate.error} />
        <Group gap="sm" align="flex-end">
          {outcomes.includes('return') ? (
            <NativeSelect
              label="Return reason"
              value={code}
              maw="100%"
              onChange={({ currentTarget }) => setCode(currentTarget.value)}
              data={[
                { value: '', label: 'No reason given' },
                ...returnReasons.map((one) => ({
                  value: one.code,
                  label: `${one.code}: ${one.title}`,
                })),
              ]}
            />
          ) : null}
          {outcomes.map((outcome) => (
            <Button
              key={outcome}
              variant="default"
              loading={simulate.isPending && simulate.variables === outcome}
              disabled={simulate.isPending && simulate.variables !== outcome}
              onClick={() => simulate.mutate(outcome)}
            >
              {names[outcome]}
            </Button>
          ))}
        </Group>
      </Stack>
    </Section>
  );
}
