/** The form for a new user. The password is generated, and kept in this component alone. */
import { Button, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiFailure, call } from '../api.js';
import { Form } from '../form.js';
import { FormProblem, Section } from '../ui.js';
import { ShownOnce } from '../values.js';
import { type Role, roleNames } from './user-search.js';
import { refreshUsers } from './users-query.js';

const roleTexts = {
  viewer: 'Sees everything but the URLs of payment links.',
  operator: 'Creates and cancels payments, too.',
  approver: 'Approves the payments of others, too.',
  admin: 'Manages users, API keys, webhooks and originators, too.',
} as const satisfies Record<Role, string>;

export function NewUser({ close }: { readonly close: () => void }) {
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('viewer');
  const create = useMutation({
    mutationFn: () => call('createUser', { body: { email: email.trim(), role } }),
    onSuccess: refreshUsers,
    gcTime: 0,
  });
  const { error, data } = create;
  const emailProblem = error instanceof ApiFailure ? error.problemOf('email') : null;
  if (data !== undefined)
    return (
      <Section title="The user was created">
        <Stack gap="md" align="flex-start">
          <Text size="sm" className="any-word">
            Give <strong>{email.trim()}</strong> this password. The user can change it after signing
            in.
          </Text>
          <ShownOnce value={data.password} name="the password" />
          <Button variant="default" onClick={close}>
            Done
          </Button>
        </Stack>
      </Section>
    );
  return (
    <Section title="Create a user">
      <Form sending={create} submit={() => create.mutate()} widthMax={420}>
        {emailProblem === null ? <FormProblem error={error} /> : null}
        <TextInput
          label="Email"
          type="email"
          autoComplete="off"
          autoFocus
          value={email}
          error={emailProblem === null ? null : 'Enter an e-mail address.'}
          onChange={({ currentTarget }) => setEmail(currentTarget.value)}
        />
        <NativeSelect
          label="Role of the user"
          description={roleTexts[role]}
          data={Object.entries(roleNames).map(([value, label]) => ({ value, label }))}
          value={role}
          onChange={({ currentTarget }) => setRole(currentTarget.value as Role)}
        />
        <Group>
          <Button type="submit" loading={create.isPending}>
            Create user
          </Button>
          <Button variant="default" onClick={close}>
            Back
          </Button>
        </Group>
      </Form>
    </Section>
  );
}
