/** The fields of an endpoint: where it is, what it is told, and a label for people. */
import { Button, Checkbox, Group, TextInput } from '@mantine/core';
import { useState } from 'react';
import { ApiFailure } from '../api.js';
import { Form } from '../form.js';
import { FormProblem } from '../ui.js';
import { eventNames } from './delivery-search.js';
import { allPaymentEvents, type Subscriptions } from './webhook-data.js';
import '@mantine/core/styles/Checkbox.css';

export interface WebhookFields {
  readonly url: string;
  readonly label: string;
  readonly subscribedEvents: readonly string[];
}

interface Props {
  readonly initial: WebhookFields;
  readonly action: string;
  readonly isPending: boolean;
  readonly error: Error | null;
  readonly submit: (fields: {
    readonly url: string;
    readonly label: string | null;
    readonly subscribedEvents: Subscriptions;
  }) => void;
  readonly change: () => void;
  readonly back: () => void;
}

const labelMax = 255;
const names = Object.keys(eventNames);

export function WebhookForm({ initial, action, isPending, error, submit, change, back }: Props) {
  const [fields, setFields] = useState(initial);
  const [isEmpty, setIsEmpty] = useState(false);
  const failure = error instanceof ApiFailure ? error : null;
  const set = (changes: Partial<WebhookFields>) => {
    setFields((before) => ({ ...before, ...changes }));
    setIsEmpty(false);
    change();
  };
  const send = () => {
    const url = fields.url.trim();
    setIsEmpty(url === '');
    if (url === '') return;
    const label = fields.label.trim();
    submit({
      url,
      label: label === '' ? null : label,
      // Sound: the names of the table above.
      subscribedEvents: [...fields.subscribedEvents] as unknown as Subscriptions,
    });
  };
  return (
    <Form className="card narrow" sending={{ isPending, error }} submit={send}>
      {failure?.problems.length ? null : <FormProblem error={error} />}
      <TextInput
        label="URL"
        type="url"
        inputMode="url"
        autoComplete="off"
        placeholder="https://example.com/webhooks"
        value={fields.url}
        error={isEmpty ? 'Fill in this field.' : (failure?.problemOf('url') ?? null)}
        onChange={({ currentTarget }) => set({ url: currentTarget.value })}
      />
      <TextInput
        label="Label"
        description="How it is called here. Optional."
        autoComplete="off"
        maxLength={labelMax}
        value={fields.label}
        error={failure?.problemOf('label') ?? null}
        onChange={({ currentTarget }) => set({ label: currentTarget.value })}
      />
      <EventChoice
        chosen={fields.subscribedEvents}
        problem={problemOfEvents(failure)}
        choose={(subscribedEvents) => set({ subscribedEvents })}
      />
      <Group justify="flex-end" mt="xs">
        <Button variant="default" onClick={back}>
          Back
        </Button>
        <Button type="submit" loading={isPending}>
          {action}
        </Button>
      </Group>
    </Form>
  );
}

function problemOfEvents(failure: ApiFailure | null): string | null {
  const problem = failure?.problems.find(({ field }) => field.startsWith('subscribedEvents'));
  return problem === undefined ? null : (failure?.problemOf(problem.field, noEvents) ?? null);
}

const noEvents = { validation_min_length: 'Choose at least one event.' } as const;

interface ChoiceProps {
  readonly chosen: readonly string[];
  readonly problem: string | null;
  readonly choose: (events: readonly string[]) => void;
}

function EventChoice({ chosen, problem, choose }: ChoiceProps) {
  const isAll = chosen.includes(allPaymentEvents);
  return (
    <Checkbox.Group
      label="Events"
      value={[...chosen]}
      error={problem}
      onChange={(events) => choose(events)}
    >
      <div className="event-choice">
        <Checkbox value={allPaymentEvents} label="All payment events" />
        {names.map((name) => (
          <Checkbox
            key={name}
            value={name}
            // A payment event that is chosen beside all of them says nothing more.
            disabled={isAll && name.startsWith('payment.')}
            label={(eventNames as Readonly<Record<string, string>>)[name]}
          />
        ))}
      </div>
    </Checkbox.Group>
  );
}
