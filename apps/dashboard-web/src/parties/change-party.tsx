/** Changes of a contact or an originator. Only what was changed is sent. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { call } from '../api.js';
import { nameOf } from '../format.js';
import { LoadFailed, PageHeader, PageLoading } from '../ui.js';
import { PartyFields } from './party-fields.js';
import { changesOf, formOf, type PartyForm } from './party-form.js';
import {
  accountText,
  contactQuery,
  originatorQuery,
  type Party,
  refreshParties,
} from './party-queries.js';

export function ChangeContactPage() {
  const { contactId } = useParams({ from: '/shell/contacts/$contactId/change' });
  const navigate = useNavigate();
  const page = useQuery(contactQuery(contactId));
  const back = () => navigate({ to: '/contacts/$contactId', params: { contactId } });
  if (page.isLoadingError)
    return (
      <>
        <PageHeader title="Change contact" />
        <LoadFailed error={page.error} retry={() => void page.refetch()} />
      </>
    );
  if (page.data === undefined) return <PageLoading title="Change contact" />;
  const { contact } = page.data;
  return (
    <ChangeForm
      party={contact}
      kind="contacts"
      send={(form) => call('changeContact', { ids: { contactId }, body: changesOf(contact, form) })}
      back={back}
    />
  );
}

export function ChangeOriginatorPage() {
  const { originatorId } = useParams({ from: '/shell/originators/$originatorId/change' });
  const navigate = useNavigate();
  const page = useQuery(originatorQuery(originatorId));
  const back = () => navigate({ to: '/originators/$originatorId', params: { originatorId } });
  if (page.isLoadingError)
    return (
      <>
        <PageHeader title="Change originator" />
        <LoadFailed error={page.error} retry={() => void page.refetch()} />
      </>
    );
  if (page.data === undefined) return <PageLoading title="Change originator" />;
  const originator = page.data;
  return (
    <ChangeForm
      party={originator}
      kind="originators"
      send={async (form) => {
        const { bankAccount, ...others } = changesOf(originator, form);
        // An originator always has an account: the form does not offer to remove it.
        const body = { ...others, ...(bankAccount ? { bankAccount } : {}) };
        await call('changeOriginator', { ids: { originatorId }, body });
      }}
      back={back}
    />
  );
}

interface ChangeFormProps {
  readonly party: Party;
  readonly kind: 'contacts' | 'originators';
  readonly send: (form: PartyForm) => Promise<unknown>;
  readonly back: () => Promise<void>;
}

function ChangeForm({ party, kind, send, back }: ChangeFormProps) {
  const change = useMutation({
    mutationFn: send,
    onSuccess: async () => {
      await refreshParties(kind);
      await back();
    },
  });
  const account = accountText(party);
  const accountChoices = [
    ...(account === null ? [] : [{ value: 'keep', label: `Keep ${account}` }]),
    { value: 'replace', label: 'Replace it' },
    ...(kind === 'contacts' && account !== null ? [{ value: 'remove', label: 'Remove it' }] : []),
  ];
  return (
    <>
      <PageHeader title={`Change ${nameOf(party) ?? 'party'}`} />
      <PartyFields
        initial={formOf(party)}
        accountChoices={accountChoices}
        send={change}
        submit="Save changes"
        back={() => void back()}
      />
    </>
  );
}
