/** Saving fees, from the form or from a file. */
import { Alert } from '@mantine/core';
import type { FeeScheduleView } from '@pis/dashboard/api';
import { useMutation } from '@tanstack/react-query';
import { ApiFailure, call } from '../api.js';
import { queryClient } from '../queries.js';
import { FormProblem } from '../ui.js';
import { feesQuery } from './fees-query.js';

/** @param shown what the user saw: other schedules that somebody else has set meanwhile are not replaced */
export function useSetFees(shown: readonly FeeScheduleView[], saved: () => void) {
  const save = useMutation({
    mutationFn: (schedules: readonly unknown[]) =>
      call('setFees', { body: { schedules: [...schedules], shown: [...shown] } }),
    onSuccess: (fees) => {
      queryClient.setQueryData(feesQuery.queryKey, fees);
      saved();
    },
  });
  return { save, failure: save.error instanceof ApiFailure ? save.error : null };
}

const conflictStatus = 409;

/** @param hasFields whether the problems are shown at their fields */
export function FeesProblem({
  failure,
  hasFields,
}: {
  readonly failure: ApiFailure | null;
  readonly hasFields: boolean;
}) {
  if (failure?.status === conflictStatus)
    return (
      <Alert color="red" variant="light" role="alert">
        Somebody else has changed the fees. Go back, look at them, and make your change again.
      </Alert>
    );
  if (failure !== null && failure.problems.length > 0)
    return (
      <Alert color="red" variant="light" role="alert">
        {hasFields
          ? 'Nothing was saved. Mend the fields that are marked.'
          : 'Nothing was saved. Mend the file.'}
      </Alert>
    );
  return <FormProblem error={failure} />;
}
