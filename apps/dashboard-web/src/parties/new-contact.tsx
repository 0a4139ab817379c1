/** A contact that is saved for later payments. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { call } from '../api.js';
import { nameOf } from '../format.js';
import { originatorChoices } from '../queries.js';
import { EmptyState, LoadFailed, PageHeader } from '../ui.js';
import { PartyFields } from './party-fields.js';
import { createBodyOf, emptyParty, type PartyForm } from './party-form.js';
import { refreshParties } from './party-queries.js';

export function NewContactPage() {
  const { originatorId: asked } = useSearch({ from: '/shell/contacts/new' });
  const navigate = useNavigate();
  const originators = useQuery(originatorChoices);
  const create = useMutation({
    mutationFn: (form: PartyForm) => call('createContact', { body: createBodyOf(form) }),
    onSuccess: async ({ contactId }) => {
      await refreshParties('contacts');
      await navigate({ to: '/contacts/$contactId', params: { contactId }, replace: true });
    },
  });
  const [first] = originators.data ?? [];
  const known = originators.data?.some(({ originatorId }) => originatorId === asked) === true;
  return (
    <>
      <PageHeader title="New contact" />
      {originators.isLoadingError ? (
        <LoadFailed error={originators.error} retry={() => void originators.refetch()} />
      ) : originators.data === undefined ? null : first === undefined ? (
        <EmptyState
          title="No originators yet"
          text="A contact belongs to an originator. Operators create originators with pis originator create."
        />
      ) : (
        <PartyFields
          initial={{
            ...emptyParty,
            originatorId: known && asked !== undefined ? asked : first.originatorId,
          }}
          originators={originators.data.map((one) => ({
            value: one.originatorId,
            label: nameOf(one) ?? one.originatorId,
          }))}
          send={create}
          submit="Save contact"
          back={() => void navigate({ to: '/contacts', search: {} })}
        />
      )}
    </>
  );
}
