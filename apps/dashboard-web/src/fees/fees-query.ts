import { queryOptions } from '@tanstack/react-query';
import { call } from '../api.js';

/** The fee schedules of the organization. */
export const feesQuery = queryOptions({
  queryKey: ['fees'],
  queryFn: ({ signal }) => call('getFees', { signal }),
});
