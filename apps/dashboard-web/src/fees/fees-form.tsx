/** All fee schedules as rows of fields. They are saved together. */
import { Button, Group, NativeSelect, SimpleGrid, TextInput } from '@mantine/core';
import type { FeeScheduleView } from '@pis/dashboard/api';
import { useState } from 'react';
import type { ApiFailure } from '../api.js';
import { Form } from '../form.js';
import { directionNames, rails } from '../format.js';
import { issueText } from '../issue-texts.js';
import {
  emptyRow,
  type FeeField,
  type FeeProblems,
  type FeeRow,
  fieldNames,
  formRowsMax,
  readRow,
  rowOf,
} from './fee-rows.js';
import { FeesProblem, useSetFees } from './set-fees.js';

export function FeesForm({
  schedules,
  originators,
  close,
}: {
  readonly schedules: readonly FeeScheduleView[];
  readonly originators: ReadonlyMap<string, string>;
  readonly close: () => void;
}) {
  // What was shown when the form opened: a reload of the page's data must not change it.
  const [shown] = useState(schedules);
  const [rows, setRows] = useState(() => schedules.map(rowOf));
  const [isChecked, setIsChecked] = useState(false);
  const { save, failure } = useSetFees(shown, close);
  const read = rows.map(readRow);
  const change = (index: number, changed: Partial<FeeRow>) => {
    setRows(rows.map((row, at) => (at === index ? { ...row, ...changed } : row)));
    save.reset();
  };
  const submit = () => {
    setIsChecked(true);
    const isReadable = read.every(({ problems }) => Object.keys(problems).length === 0);
    if (isReadable) save.mutate(read.map(({ schedule }) => schedule));
  };
  return (
    <Form className="card" sending={save} submit={submit}>
      <FeesProblem failure={failure} hasFields />
      {rows.map((row, index) => (
        <Row
          key={row.key}
          row={row}
          number={index + 1}
          originators={originators}
          problemOf={(field) =>
            (isChecked ? read[index]?.problems[field] : undefined) ??
            serverProblem(failure, index, field)
          }
          whole={wholeProblem(failure, index)}
          change={(changed) => change(index, changed)}
          remove={() => {
            setRows(rows.filter((_, at) => at !== index));
            save.reset();
          }}
        />
      ))}
      <Group gap="sm">
        <Button type="submit" loading={save.isPending}>
          Save fees
        </Button>
        <Button
          variant="default"
          disabled={rows.length >= formRowsMax}
          onClick={() => {
            setRows([...rows, emptyRow()]);
            save.reset();
          }}
        >
          Add a schedule
        </Button>
        <Button variant="default" onClick={close}>
          Back
        </Button>
      </Group>
    </Form>
  );
}

function serverProblem(failure: ApiFailure | null, index: number, field: FeeField): string | null {
  const own =
    field === 'cap' ? { validation_min: 'The most must not be less than the least.' } : {};
  return failure?.problemOf(`schedules.${index}.${fieldNames[field]}`, own) ?? null;
}

/** Of the schedule as a whole. */
function wholeProblem(failure: ApiFailure | null, index: number): string | null {
  const found = failure?.problems.find(({ field }) => field === `schedules.${index}`);
  return found === undefined ? null : issueText(found);
}

const fieldTexts = {
  from: { label: 'From', description: 'A day in UTC; empty: always' },
  percent: { label: 'Share of the amount, %', description: 'Such as 0.25' },
  min: { label: 'At least, $', description: 'Empty: no limit' },
  cap: { label: 'At most, $', description: 'Empty: no limit' },
  flat: { label: 'Per payment, $', description: 'On every payment' },
  returned: { label: 'Per return, $', description: 'Only for returned payments' },
} as const;

function Row({
  row,
  number,
  originators,
  problemOf,
  whole,
  change,
  remove,
}: {
  readonly row: FeeRow;
  readonly number: number;
  readonly originators: ReadonlyMap<string, string>;
  readonly problemOf: (field: FeeField) => FeeProblems[FeeField] | null;
  readonly whole: string | null;
  readonly change: (changed: Partial<FeeRow>) => void;
  readonly remove: () => void;
}) {
  const isUnknown = row.originatorId !== '' && !originators.has(row.originatorId);
  return (
    <fieldset className="part">
      <legend>{`Schedule ${number}`}</legend>
      <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }} spacing="md">
        <NativeSelect
          label="Originator"
          description="Whose payments"
          data={[
            { value: '', label: 'All originators' },
            ...[...originators].map(([value, label]) => ({ value, label })),
            ...(isUnknown ? [{ value: row.originatorId, label: row.originatorId }] : []),
          ]}
          value={row.originatorId}
          error={problemOf('originatorId') ?? whole}
          onChange={({ currentTarget }) => change({ originatorId: currentTarget.value })}
        />
        <NativeSelect
          label="Rail"
          description="Over which rail"
          data={[{ value: '', label: 'All rails' }, ...rails]}
          value={row.rail}
          error={problemOf('rail') ?? null}
          onChange={({ currentTarget }) => change({ rail: currentTarget.value })}
        />
        <NativeSelect
          label="Direction"
          description="Sent or requested"
          data={[
            { value: '', label: 'Both directions' },
            ...Object.entries(directionNames).map(([value, label]) => ({ value, label })),
          ]}
          value={row.direction}
          error={problemOf('direction') ?? null}
          onChange={({ currentTarget }) => change({ direction: currentTarget.value })}
        />
        {(['percent', 'min', 'cap', 'flat', 'returned', 'from'] as const).map((field) => (
          <TextInput
            key={field}
            {...fieldTexts[field]}
            inputMode={field === 'from' ? 'text' : 'decimal'}
            placeholder={field === 'from' ? 'YYYY-MM-DD' : ''}
            value={row[field]}
            error={problemOf(field) ?? null}
            onChange={({ currentTarget }) => change({ [field]: currentTarget.value })}
          />
        ))}
      </SimpleGrid>
      <Button
        mt="md"
        variant="subtle"
        color="red"
        size="compact-sm"
        onClick={remove}
        aria-label={`Remove schedule ${number}`}
      >
        Remove
      </Button>
    </fieldset>
  );
}
