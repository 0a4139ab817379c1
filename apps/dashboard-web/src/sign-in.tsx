import { Alert, Button, Paper, Stack, Text, TextInput, Title } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useRouter, useSearch } from '@tanstack/react-router';
import { type FormEvent, useEffect, useState } from 'react';
import { ApiFailure, call } from './api.js';
import { Brand } from './brand.js';
import { meQuery, sessionHasEnded, signedIn } from './queries.js';
import { isProviderProblem, type ProviderProblem, ProviderSignIn } from './sign-in-provider.js';
import { FormProblem, leavePageWithoutHeading } from './ui.js';

interface SignInSearch {
  readonly next?: string;
  readonly problem?: ProviderProblem;
}

/** Of an address, whatever it says. */
export function signInSearchOf({ next, problem }: Record<string, unknown>): SignInSearch {
  return {
    ...(typeof next === 'string' ? { next } : {}),
    ...(isProviderProblem(problem) ? { problem } : {}),
  };
}

export function SignInPage() {
  const { next, problem } = useSearch({ from: '/sign-in' });
  const { data: me } = useQuery(meQuery);
  const { history } = useRouter();
  const target = ownPath(next);
  const isSignedIn = me !== undefined && me !== null;
  useEffect(() => {
    if (!isSignedIn) return;
    leavePageWithoutHeading('/sign-in');
    history.replace(`${base}${target}`);
  }, [isSignedIn, history, target]);
  document.title = 'Sign in · Dashboard';
  return (
    <main className="sign-in">
      <Stack gap="xl" w="100%" maw={380}>
        <Brand />
        <Paper withBorder p={{ base: 'lg', xs: 'xl' }} radius="lg">
          <Stack gap="md">
            <SignInForm />
            <ProviderSignIn next={target} problem={problem} />
          </Stack>
        </Paper>
      </Stack>
    </main>
  );
}

const base = '/dashboard';

/** Only a path of this app, as the browser will read it: nobody's link leads elsewhere after the sign-in. */
function ownPath(next = '/'): string {
  if (!/^\/(?![/\\])/.test(next) || !URL.canParse(`${base}${next}`, location.origin)) return '/';
  const { pathname, search, hash } = new URL(`${base}${next}`, location.origin);
  const isOwn = /^\/dashboard\/(?!\/|sign-in)/.test(pathname);
  return isOwn ? `${pathname.slice(base.length)}${search}${hash}` : '/';
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
        {sessionHasEnded() && signIn.isIdle ? (
          <Alert color="yellow" variant="light" role="alert">
            Your session has ended. Sign in to go on. Enter again what was not saved.
          </Alert>
        ) : null}
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
