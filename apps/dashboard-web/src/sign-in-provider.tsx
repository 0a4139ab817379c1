/** Signing in with an OpenID provider, where there is one. */
import { Alert, Button } from '@mantine/core';
import { queryOptions, useMutation, useQuery } from '@tanstack/react-query';
import { call } from './api.js';
import { FormProblem } from './ui.js';

const optionsQuery = queryOptions({
  queryKey: ['sign-in-options'],
  queryFn: ({ signal }) => call('signInOptions', { signal }),
  staleTime: Infinity,
});

/** Why the provider's way back led here. */
const problemTexts = {
  refused: 'The sign-in was refused. Your address must be verified and belong to a user here.',
  unavailable: 'The sign-in could not be finished. Try again, or use your password.',
  limited: 'There were too many failed sign-ins. Try again in a quarter of an hour.',
} as const;
export type ProviderProblem = keyof typeof problemTexts;

export function isProviderProblem(value: unknown): value is ProviderProblem {
  return typeof value === 'string' && Object.hasOwn(problemTexts, value);
}

export function ProviderSignIn({
  next,
  problem,
}: {
  /** A path of this app. */
  readonly next: string;
  readonly problem: ProviderProblem | undefined;
}) {
  const { data } = useQuery(optionsQuery);
  const begin = useMutation({
    mutationFn: () => call('beginOidc', { body: { next } }),
    onSuccess: ({ url }) => window.location.assign(url),
  });
  const name = data?.oidc?.name;
  if (name === undefined) return null;
  return (
    <>
      {problem !== undefined && begin.isIdle ? (
        <Alert color="red" variant="light" role="alert">
          {problemTexts[problem]}
        </Alert>
      ) : null}
      <FormProblem error={begin.error} />
      <Button
        variant="default"
        fullWidth
        loading={begin.isPending || begin.isSuccess}
        onClick={() => begin.mutate()}
      >
        Sign in with {name}
      </Button>
    </>
  );
}
