import { Button, Paper, Stack, Text, TextInput, Title } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useRouter, useSearch } from '@tanstack/react-router';
import { type FormEvent, useEffect, useState } from 'react';
import { ApiFailure, call } from './api.js';
import { Brand } from './brand.js';
import { meQuery, signedIn } from './queries.js';
import { FormProblem } from './ui.js';

export function SignInPage() {
  const { next } = useSearch({ from: '/sign-in' });
  const { data: me } = useQuery(meQuery);
  const { history } = useRouter();
  const target = ownPath(next);
  const isSignedIn = me !== undefined && me !== null;
  useEffect(() => {
    if (isSignedIn) history.replace(`/dashboard${target}`);
  }, [isSignedIn, history, target]);
  document.title = 'Sign in · Dashboard';
  return (
    <main className="sign-in">
      <Stack gap="xl" w="100%" maw={380}>
        <Brand />
        <Paper withBorder p={{ base: 'lg', xs: 'xl' }} radius="lg">
          <SignInForm />
        </Paper>
      </Stack>
    </main>
  );
}

/** Only a path of this app: nobody's link leads elsewhere after the sign-in. */
function ownPath(next: string | undefined): string {
  return next !== undefined && /^\/(?![/\\])/.test(next) && !next.startsWith('/sign-in')
    ? next
    : '/';
}

function SignInForm() {
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const [asksCode, setAsksCode] = useState(false);
  const signIn = useMutation({
    mutationFn: () => call('signIn', { body: { email, password, ...(asksCode ? { code } : {}) } }),
    onSuccess: (answer) => (answer.next === 'code' ? setAsksCode(true) : signedIn(answer.me)),
    // Stays on this page: nobody is signed in yet.
    onError: () => setCode(''),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!signIn.isPending) signIn.mutate();
  };
  const isWrong = signIn.error instanceof ApiFailure && signIn.error.status === 401;

  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="md">
        <div>
          <Title order={1}>Sign in</Title>
          <Text c="dimmed" size="sm" mt={4}>
            {asksCode
              ? 'Enter the code that your authenticator app shows.'
              : 'To your organization’s payments.'}
          </Text>
        </div>
        <FormProblem error={signIn.error} />
        <TextInput
          label="Email"
          type="email"
          name="email"
          autoComplete="username"
          autoFocus
          value={email}
          error={isWrong}
          onChange={(event) => setEmail(event.currentTarget.value)}
        />
        <TextInput
          label="Password"
          type="password"
          name="password"
          autoComplete="current-password"
          value={password}
          error={isWrong}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
        {asksCode ? (
          <TextInput
            label="One-time code"
            name="code"
            inputMode="numeric"
            autoComplete="one-time-code"
            autoFocus
            value={code}
            error={isWrong}
            onChange={(event) => setCode(event.currentTarget.value)}
          />
        ) : null}
        <Button type="submit" loading={signIn.isPending} fullWidth mt="xs">
          Sign in
        </Button>
      </Stack>
    </form>
  );
}
