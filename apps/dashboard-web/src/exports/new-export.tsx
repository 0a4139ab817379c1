/** Asks for a file: what is in it, its format, and of which time. */
import { Button, Group, NativeSelect, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiFailure, call } from '../api.js';
import { Form } from '../form.js';
import { nameOf } from '../format.js';
import { originatorChoices } from '../queries.js';
import { FormProblem, Section } from '../ui.js';
import {
  type Format,
  formatNames,
  formatsOf,
  type Kind,
  kindNames,
  type NewExport,
  refreshExports,
} from './export-data.js';

const first = { kind: 'payments', format: 'csv', originatorId: '', from: '', to: '' } as const;
type Fields = { readonly kind: Kind; readonly format: Format } & Readonly<
  Record<'originatorId' | 'from' | 'to', string>
>;

export function NewExportForm({ close }: { readonly close: () => void }) {
  const [form, setForm] = useState<Fields>(first);
  const originators = useQuery(originatorChoices);
  const create = useMutation({
    mutationFn: () => call('createExport', { body: bodyOf(form) }),
    onSuccess: async () => {
      close();
      await refreshExports();
    },
  });
  const failure = create.error instanceof ApiFailure ? create.error : null;
  const change = (changes: Partial<Fields>) => {
    setForm((former) => withFormat({ ...former, ...changes }));
    create.reset();
  };
  return (
    <Section title="New export">
      <Form sending={create} submit={() => create.mutate()}>
        {failure?.problems.length ? null : <FormProblem error={create.error} />}
        <Group gap="sm" align="flex-start">
          <NativeSelect
            label="Content"
            data={Object.entries(kindNames).map(([value, label]) => ({ value, label }))}
            value={form.kind}
            onChange={({ currentTarget }) => change({ kind: currentTarget.value as Kind })}
          />
          <NativeSelect
            label="Format"
            data={formatsOf[form.kind].map((value) => ({ value, label: formatNames[value] }))}
            value={form.format}
            error={failure?.problemOf('format') ?? null}
            onChange={({ currentTarget }) => change({ format: currentTarget.value as Format })}
          />
          <NativeSelect
            label="Originator"
            data={[
              { value: '', label: 'All' },
              ...(originators.data ?? []).map((one) => ({
                value: one.originatorId,
                label: nameOf(one) ?? one.originatorId,
              })),
            ]}
            value={form.originatorId}
            error={failure?.problemOf('originatorId') ?? null}
            onChange={({ currentTarget }) => change({ originatorId: currentTarget.value })}
          />
          <TextInput
            type="date"
            label="Created from"
            value={form.from}
            error={failure?.problemOf('from') ?? null}
            onChange={({ currentTarget }) => change({ from: currentTarget.value })}
          />
          <TextInput
            type="date"
            label="Created to"
            value={form.to}
            error={failure?.problemOf('to') ?? null}
            onChange={({ currentTarget }) => change({ to: currentTarget.value })}
          />
        </Group>
        <Text size="sm" c="dimmed">
          Days are in UTC, both included. Without them the file has everything up to now.
        </Text>
        <Group>
          <Button type="submit" loading={create.isPending}>
            Start export
          </Button>
          <Button variant="default" onClick={close}>
            Back
          </Button>
        </Group>
      </Form>
    </Section>
  );
}

/** A content that has no such format gets its first one. */
function withFormat(form: Fields): Fields {
  const formats = formatsOf[form.kind];
  return formats.includes(form.format) ? form : { ...form, format: formats[0] ?? 'csv' };
}

function bodyOf({ kind, format, originatorId, from, to }: Fields): NewExport {
  return {
    ...{ kind, format },
    ...(originatorId === '' ? {} : { originatorId }),
    ...(from === '' ? {} : { from }),
    ...(to === '' ? {} : { to }),
  };
}
