/** The organization's API keys. Administrators create and revoke them. */
import { Button, Group, NativeSelect, Stack, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { DashboardApi } from '@pis/dashboard/api';
import { queryOptions, useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiFailure, call } from '../api.js';
import { Confirmation } from '../confirmation.js';
import { Form } from '../form.js';
import { queryClient } from '../queries.js';
import { EmptyState, FormProblem, LoadFailed, PageHeader, Section, ShortTime } from '../ui.js';
import { ShownOnce } from '../values.js';

type ApiKey = DashboardApi['listApiKeys']['data'][number];
type KeyType = DashboardApi['createApiKey']['body']['type'];

const typeNames = {
  full_access: 'Full access',
  read_only: 'Read only',
  webhook_admin: 'Webhook admin',
} as const satisfies Record<KeyType, string>;

const keysQuery = queryOptions({
  queryKey: ['api-keys'],
  queryFn: ({ signal }) => call('listApiKeys', { signal }),
});
const refresh = () => queryClient.invalidateQueries({ queryKey: keysQuery.queryKey });

export function ApiKeysPage() {
  const keys = useQuery(keysQuery);
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <PageHeader title="API keys" action={<Button onClick={open}>New API key</Button>} />
      <Stack gap="md">
        {isOpen ? <NewKey close={close} /> : null}
        {keys.isLoadingError ? (
          <LoadFailed error={keys.error} retry={() => void keys.refetch()} />
        ) : (
          <div className="card flush" aria-busy={keys.isPending}>
            {keys.data?.length === 0 ? (
              <EmptyState title="No API keys yet" text="A program needs a key to call the API." />
            ) : (
              <Keys keys={keys.data ?? []} />
            )}
          </div>
        )}
      </Stack>
    </>
  );
}

const dayMs = 24 * 3_600_000;
/** Days from now; `date` asks for one. */
const expiries = [
  ['', 'Never'],
  ['30', 'In 30 days'],
  ['90', 'In 90 days'],
  ['365', 'In a year'],
  ['date', 'On a date'],
] as const;

/** Null for never. @param date as a date field gives it: the key ends when that day begins for its user */
function expiryOf(expiry: string, date: string): string | null {
  if (expiry === '') return null;
  if (expiry !== 'date') return new Date(Date.now() + Number(expiry) * dayMs).toISOString();
  const begins = new Date(`${date}T00:00`);
  // The server says what is wrong with an incomplete date.
  return Number.isNaN(begins.getTime()) ? date : begins.toISOString();
}

/** The key is kept in this component alone: it is gone when the user closes it. */
function NewKey({ close }: { readonly close: () => void }) {
  const [type, setType] = useState<KeyType>('full_access');
  const [expiry, setExpiry] = useState('');
  const [date, setDate] = useState('');
  const create = useMutation({
    mutationFn: () => call('createApiKey', { body: { type, expiresAt: expiryOf(expiry, date) } }),
    onSuccess: refresh,
    gcTime: 0,
  });
  const failure = create.error instanceof ApiFailure ? create.error : null;
  const hasDateProblem = expiry === 'date' && failure?.problemOf('expiresAt') != null;
  return (
    <Section title="Create an API key">
      {create.data === undefined ? (
        <Form sending={create} submit={() => create.mutate()} widthMax={360}>
          {hasDateProblem ? null : <FormProblem error={create.error} />}
          <NativeSelect
            label="Type"
            data={Object.entries(typeNames).map(([value, label]) => ({ value, label }))}
            value={type}
            onChange={({ currentTarget }) => setType(currentTarget.value as KeyType)}
          />
          <NativeSelect
            label="Expires"
            data={expiries.map(([value, label]) => ({ value, label }))}
            value={expiry}
            onChange={({ currentTarget }) => setExpiry(currentTarget.value)}
          />
          {expiry === 'date' ? (
            <TextInput
              type="date"
              label="Expiry date"
              value={date}
              error={hasDateProblem ? 'Enter a day in the future.' : null}
              onChange={({ currentTarget }) => setDate(currentTarget.value)}
            />
          ) : null}
          <Group>
            <Button type="submit" loading={create.isPending}>
              Create key
            </Button>
            <Button variant="default" onClick={close}>
              Back
            </Button>
          </Group>
        </Form>
      ) : (
        <Stack gap="sm" align="flex-start">
          <ShownOnce value={create.data.apiKey} name="the key" />
          <Button variant="default" onClick={close}>
            Done
          </Button>
        </Stack>
      )}
    </Section>
  );
}

function Keys({ keys }: { readonly keys: readonly ApiKey[] }) {
  return (
    <table className="list">
      <colgroup>
        <col className="type-column" />
        <col className="wide" />
        <col className="wide time-column" />
        <col className="time-column" />
        <col className="actions-column" />
      </colgroup>
      <thead>
        <tr>
          <th scope="col">Type</th>
          <th scope="col" className="wide">
            ID
          </th>
          <th scope="col" className="wide">
            Created
          </th>
          <th scope="col">Expires</th>
          <th scope="col">State</th>
        </tr>
      </thead>
      <tbody>
        {keys.map((key) => (
          <tr key={key.apiKeyId} className="row">
            <td>{(typeNames as Readonly<Record<string, string>>)[key.type] ?? key.type}</td>
            <td className="wide">
              <code>{key.apiKeyId}</code>
            </td>
            <td className="wide">
              <ShortTime at={key.createdAt} />
            </td>
            <td>{key.expiresAt === null ? 'Never' : <ShortTime at={key.expiresAt} />}</td>
            <td>
              <KeyState apiKey={key} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function KeyState({ apiKey: { apiKeyId, expiresAt, revokedAt } }: { readonly apiKey: ApiKey }) {
  if (revokedAt !== null) return 'Revoked';
  if (expiresAt !== null && Date.parse(expiresAt) <= Date.now()) return 'Expired';
  return <Revocation apiKeyId={apiKeyId} />;
}

const small = { variant: 'subtle', size: 'compact-sm' } as const;

function Revocation({ apiKeyId }: { readonly apiKeyId: string }) {
  return (
    <Confirmation
      button="Revoke"
      look={small}
      title="Revoke this key?"
      text="Programs that use it are refused at once. This cannot be undone."
      confirm="Yes, revoke it"
      isDangerous
      act={async () => {
        await call('revokeApiKey', { ids: { apiKeyId } });
        await refresh();
      }}
    />
  );
}
