/** The organization's API keys. Administrators create and revoke them. */
import { Button, Group, Modal, NativeSelect, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { DashboardApi } from '@pis/dashboard/api';
import { queryOptions, useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../api.js';
import { queryClient } from '../queries.js';
import { EmptyState, FormProblem, LoadFailed, PageHeader, Section, Time } from '../ui.js';

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
        {keys.isError ? (
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

/** The key is kept in this component alone: it is gone when the user closes it. */
function NewKey({ close }: { readonly close: () => void }) {
  const [type, setType] = useState<KeyType>('full_access');
  const create = useMutation({
    mutationFn: () => call('createApiKey', { body: { type } }),
    onSuccess: refresh,
    gcTime: 0,
  });
  return (
    <Section title="Create an API key">
      {create.data === undefined ? (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (!create.isPending) create.mutate();
          }}
        >
          <Stack gap="md" maw={360}>
            <FormProblem error={create.error} />
            <NativeSelect
              label="Type"
              data={Object.entries(typeNames).map(([value, label]) => ({ value, label }))}
              value={type}
              onChange={({ currentTarget }) => setType(currentTarget.value as KeyType)}
            />
            <Group>
              <Button type="submit" loading={create.isPending}>
                Create key
              </Button>
              <Button variant="default" onClick={close}>
                Back
              </Button>
            </Group>
          </Stack>
        </form>
      ) : (
        <Stack gap="sm" align="flex-start">
          <Text size="sm">Copy the key now. It is not shown again.</Text>
          <code className="link-url">{create.data.apiKey}</code>
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
      <thead>
        <tr>
          <th scope="col">Kind</th>
          <th scope="col" className="wide">
            ID
          </th>
          <th scope="col">Created</th>
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
            <td>
              <Time at={key.createdAt} />
            </td>
            <td>{key.revokedAt === null ? <Revocation apiKeyId={key.apiKeyId} /> : 'Revoked'}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Revocation({ apiKeyId }: { readonly apiKeyId: string }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const revoke = useMutation({
    mutationFn: () => call('revokeApiKey', { ids: { apiKeyId } }),
    onSuccess: refresh,
  });
  return (
    <>
      <Button variant="subtle" color="red" size="compact-sm" onClick={open}>
        Revoke
      </Button>
      <Modal
        opened={isOpen}
        onClose={close}
        title="Revoke this key?"
        closeButtonProps={{ 'aria-label': 'Close' }}
        centered
      >
        <Stack gap="md">
          <Text size="sm">Programs that use it are refused at once. This cannot be undone.</Text>
          <FormProblem error={revoke.error} />
          <Group justify="flex-end">
            <Button variant="default" onClick={close} data-autofocus>
              Keep it
            </Button>
            <Button color="red" loading={revoke.isPending} onClick={() => revoke.mutate()}>
              Yes, revoke it
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  );
}
