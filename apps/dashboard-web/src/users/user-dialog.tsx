/** What an administrator can do with another user. */
import { Button, Group, Modal, NativeSelect, Stack, Text, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { call } from '../api.js';
import { stayText } from '../confirmation.js';
import { FormProblem, Time } from '../ui.js';
import { ShownOnce } from '../values.js';
import { type Role, roleNames } from './user-search.js';
import { refreshUsers, type User } from './users-query.js';

interface Props {
  readonly user: User;
  readonly close: () => void;
}

export function UserDialog({ user, close }: Props) {
  return (
    <Modal
      opened
      onClose={close}
      title={user.email ?? user.userId}
      classNames={{ title: 'any-word' }}
      closeButtonProps={{ 'aria-label': 'Close' }}
      centered
    >
      <Stack gap="xl">
        {user.lockedUntil === null ? null : (
          <Text size="sm">
            Too many failed sign-ins: locked until <Time at={user.lockedUntil} />. A new password
            ends the lock.
          </Text>
        )}
        <RoleForm key={user.role} user={user} />
        <Reset user={user} />
        {user.disabled ? <Enabling user={user} /> : <Disabling user={user} />}
      </Stack>
    </Modal>
  );
}

function Part({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <Stack gap="xs" align="flex-start">
      <Title order={2} size="h5">
        {title}
      </Title>
      {children}
    </Stack>
  );
}

function RoleForm({ user: { userId, role } }: Pick<Props, 'user'>) {
  const [wanted, setWanted] = useState<Role>(role);
  const change = useMutation({
    mutationFn: () => call('changeUserRole', { ids: { userId }, body: { role: wanted } }),
    onSuccess: refreshUsers,
  });
  return (
    <Part title="Role">
      <FormProblem error={change.error} />
      <Group align="flex-end" gap="sm">
        <NativeSelect
          aria-label="New role"
          data={Object.entries(roleNames).map(([value, label]) => ({ value, label }))}
          value={wanted}
          onChange={({ currentTarget }) => setWanted(currentTarget.value as Role)}
        />
        <Button
          variant="default"
          disabled={wanted === role}
          loading={change.isPending}
          onClick={() => change.mutate()}
        >
          Change role
        </Button>
      </Group>
    </Part>
  );
}

function Reset({ user: { userId } }: Pick<Props, 'user'>) {
  const [isAsked, setIsAsked] = useState(false);
  const reset = useMutation({
    mutationFn: () => call('resetUser', { ids: { userId } }),
    onSuccess: refreshUsers,
    gcTime: 0,
  });
  return (
    <Part title="Password">
      <FormProblem error={reset.error} />
      {reset.data === undefined ? (
        <>
          <Text size="sm" c="dimmed">
            For a user who lost the password or the authenticator app. One-time codes are turned
            off, and all sessions end.
          </Text>
          {isAsked ? (
            <Group gap="sm">
              <Button loading={reset.isPending} onClick={() => reset.mutate()}>
                Yes, set a new password
              </Button>
              <Button variant="default" onClick={() => setIsAsked(false)}>
                {stayText}
              </Button>
            </Group>
          ) : (
            <Button variant="default" onClick={() => setIsAsked(true)}>
              New password
            </Button>
          )}
        </>
      ) : (
        <ShownOnce value={reset.data.password} name="the password" />
      )}
    </Part>
  );
}

function Disabling({ user: { userId } }: Pick<Props, 'user'>) {
  const [isAsked, setIsAsked] = useState(false);
  const disable = useMutation({
    mutationFn: () => call('disableUser', { ids: { userId } }),
    onSuccess: refreshUsers,
  });
  return (
    <Part title="Access">
      <FormProblem error={disable.error} />
      <Text size="sm" c="dimmed">
        A disabled user is signed out at once and cannot sign in. What the user did stays on record.
      </Text>
      {isAsked ? (
        <Group gap="sm">
          <Button color="red" loading={disable.isPending} onClick={() => disable.mutate()}>
            Yes, disable the user
          </Button>
          <Button variant="default" onClick={() => setIsAsked(false)}>
            Keep the user
          </Button>
        </Group>
      ) : (
        <Button variant="light" color="red" onClick={() => setIsAsked(true)}>
          Disable user
        </Button>
      )}
    </Part>
  );
}

function Enabling({ user: { userId } }: Pick<Props, 'user'>) {
  const enable = useMutation({
    mutationFn: () => call('enableUser', { ids: { userId } }),
    onSuccess: refreshUsers,
  });
  return (
    <Part title="Access">
      <FormProblem error={enable.error} />
      <Text size="sm" c="dimmed">
        This user is disabled.
      </Text>
      <Button variant="default" loading={enable.isPending} onClick={() => enable.mutate()}>
        Enable user
      </Button>
    </Part>
  );
}
