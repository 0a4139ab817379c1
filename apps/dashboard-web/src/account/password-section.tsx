/** A new password. It ends all other sessions of the user. */
import { Alert, Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiFailure, call } from '../api.js';
import { Form } from '../form.js';
import { queryClient } from '../queries.js';
import { FormProblem, Section } from '../ui.js';
import { CodeField, PasswordField, wrongSecret } from './secret-inputs.js';
import { sessionsQuery } from './sessions-query.js';

const lengthText = 'A password has 12 to 128 characters.';

export function PasswordSection({ hasCodes }: { readonly hasCodes: boolean }) {
  const [password, setPassword] = useState('');
  const [newPassword, setNewPassword] = useState('');
  const [repeated, setRepeated] = useState('');
  const [code, setCode] = useState('');
  const [isDifferent, setIsDifferent] = useState(false);
  const change = useMutation({
    mutationFn: () =>
      call('changePassword', { body: { password, newPassword, ...(hasCodes ? { code } : {}) } }),
    onSuccess: () => {
      for (const clear of [setPassword, setNewPassword, setRepeated, setCode]) clear('');
      return queryClient.invalidateQueries({ queryKey: sessionsQuery.queryKey });
    },
    onError: () => setCode(''),
    gcTime: 0,
  });
  const submit = () => {
    setIsDifferent(newPassword !== repeated);
    if (newPassword === repeated) change.mutate();
  };
  const failure = change.error instanceof ApiFailure ? change.error : null;
  const [wrong, refused] = [wrongSecret(failure), failure?.problemOf('newPassword')];
  return (
    <Section title="Password">
      <Form sending={change} submit={submit} widthMax={420}>
        {change.isSuccess ? (
          <Alert color="teal" variant="light" role="status">
            The password was changed. Your other sessions have ended.
          </Alert>
        ) : null}
        {(wrong ?? refused) ? null : <FormProblem error={change.error} />}
        <PasswordField
          label="Current password"
          value={password}
          onChange={setPassword}
          error={wrong}
        />
        <PasswordField
          isNew
          label="New password"
          value={newPassword}
          onChange={setNewPassword}
          error={refused ? lengthText : null}
        />
        <PasswordField
          isNew
          label="Repeat the new password"
          value={repeated}
          onChange={setRepeated}
          error={isDifferent ? 'The two new passwords differ.' : null}
        />
        {hasCodes ? <CodeField value={code} onChange={setCode} /> : null}
        <Button type="submit" w="fit-content" loading={change.isPending}>
          Change password
        </Button>
      </Form>
    </Section>
  );
}
