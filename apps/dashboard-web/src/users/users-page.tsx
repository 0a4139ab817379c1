/** The users of the organization. Administrators create, change and disable them. */
import { Alert, Badge, Button, Group, NativeSelect, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { labelOf } from '../format.js';
import { meQuery } from '../queries.js';
import { EmptyState, LoadFailed, PageHeader, ShortTime } from '../ui.js';
import { NewUser } from './new-user.js';
import { UserDialog } from './user-dialog.js';
import { roleNames, stateNames, type UserSearch, userSearchOf } from './user-search.js';
import { isReadable, stateOf, type User, usersQuery } from './users-query.js';

export function UsersPage() {
  const search = useSearch({ from: '/shell/users' });
  const users = useQuery(usersQuery);
  const [isOpen, { open, close }] = useDisclosure(false);
  const [managedId, setManagedId] = useState<string | null>(null);
  const listed = users.data ?? [];
  const all = listed.filter(isReadable);
  const unreadable = listed.filter((user) => !isReadable(user));
  const managed = all.find(({ userId }) => userId === managedId);
  const shown = all.filter(
    (user) =>
      (search.role === undefined || user.role === search.role) &&
      (search.state === undefined || stateOf(user) === search.state),
  );
  return (
    <>
      <PageHeader title="Users" action={<Button onClick={open}>New user</Button>} />
      <Stack gap="md">
        {isOpen ? <NewUser close={close} /> : null}
        <Filters search={search} />
        {unreadable.length === 0 ? null : (
          <Alert color="red" variant="light" role="alert" title="Some users cannot be read">
            They cannot sign in or be changed until this is solved. Contact support and name these
            IDs: {unreadable.map(({ userId }) => userId).join(', ')}
          </Alert>
        )}
        {users.isLoadingError ? (
          <LoadFailed error={users.error} retry={() => void users.refetch()} />
        ) : (
          <div className="card flush" aria-busy={users.isPending}>
            {users.isPending ? (
              <EmptyState title="Loading" text="One moment." />
            ) : shown.length === 0 ? (
              <EmptyState title="No users match" text="Change or clear the filters." />
            ) : (
              <Rows users={shown} manage={setManagedId} />
            )}
          </div>
        )}
      </Stack>
      {managed === undefined ? null : (
        <UserDialog user={managed} close={() => setManagedId(null)} />
      )}
    </>
  );
}

const optionsOf = (names: Readonly<Record<string, string>>) => [
  { value: '', label: 'All' },
  ...Object.entries(names).map(([value, label]) => ({ value, label })),
];

function Filters({ search }: { readonly search: UserSearch }) {
  const navigate = useNavigate();
  const change = (name: keyof UserSearch, value: string) =>
    void navigate({
      to: '/users',
      search: userSearchOf({ ...search, [name]: value }),
      replace: true,
    });
  return (
    <Group gap="md">
      <NativeSelect
        label="Role"
        data={optionsOf(roleNames)}
        value={search.role ?? ''}
        onChange={({ currentTarget }) => change('role', currentTarget.value)}
      />
      <NativeSelect
        label="State"
        data={optionsOf(stateNames)}
        value={search.state ?? ''}
        onChange={({ currentTarget }) => change('state', currentTarget.value)}
      />
    </Group>
  );
}

function Rows({
  users,
  manage,
}: {
  readonly users: readonly User[];
  readonly manage: (userId: string) => void;
}) {
  const { data: me } = useQuery(meQuery);
  return (
    <table className="list users">
      <colgroup>
        <col />
        <col className="wide type-column" />
        <col className="state-column" />
        <col className="wide type-column" />
        <col className="wide time-column" />
        <col className="actions-column" />
      </colgroup>
      <thead>
        <tr>
          <th scope="col">Email</th>
          <th scope="col" className="wide">
            Role
          </th>
          <th scope="col">State</th>
          <th scope="col" className="wide">
            One-time codes
          </th>
          <th scope="col" className="wide">
            Last sign-in
          </th>
          <th scope="col" className="actions">
            <span className="visually-hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {users.map((user) => (
          <Row
            key={user.userId}
            user={user}
            isOwn={user.userId === me?.userId}
            manage={() => manage(user.userId)}
          />
        ))}
      </tbody>
    </table>
  );
}

const stateColors = { active: 'teal', locked: 'orange', disabled: 'gray' } as const;

function Row({
  user,
  isOwn,
  manage,
}: {
  readonly user: User;
  readonly isOwn: boolean;
  readonly manage: () => void;
}) {
  const state = stateOf(user);
  const role = labelOf(roleNames, user.role);
  return (
    <tr className="row">
      <td>
        <Text size="sm" truncate title={user.email ?? user.userId}>
          {user.email ?? user.userId}
        </Text>
        <Text size="xs" c="dimmed" className="narrow-only">
          {role}
        </Text>
      </td>
      <td className="wide">{role}</td>
      <td>
        <Badge
          variant="light"
          color={stateColors[state]}
          radius="sm"
          tt="none"
          autoContrast
          {...(user.lockedUntil === null ? {} : { title: `Until ${user.lockedUntil}` })}
        >
          {stateNames[state]}
        </Badge>
      </td>
      <td className="wide">{user.oneTimeCodes ? 'On' : 'Off'}</td>
      <td className="wide">
        {user.lastSignInAt === null ? 'Never' : <ShortTime at={user.lastSignInAt} />}
      </td>
      <td className="actions">
        {isOwn ? (
          <Link to="/account">You</Link>
        ) : (
          <Button
            variant="default"
            size="compact-sm"
            onClick={manage}
            aria-label={`Manage ${user.email ?? user.userId}`}
          >
            Manage
          </Button>
        )}
      </td>
    </tr>
  );
}
