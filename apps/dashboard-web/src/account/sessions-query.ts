import { queryOptions } from '@tanstack/react-query';
import { call } from '../api.js';

export const sessionsQuery = queryOptions({
  queryKey: ['sessions'],
  queryFn: ({ signal }) => call('listSessions', { signal }),
});
