/** The contacts of the organization, the newest first. The search is in the address. */
import { Button, Group, NativeSelect, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { nameOf } from '../format.js';
import { ListTable } from '../list-table.js';
import { meQuery, originatorChoices } from '../queries.js';
import { EmptyState, PageHeader, ShortTime } from '../ui.js';
import type { Column } from '../virtual-table.js';
import { type Contact, contactList, type ContactSearch } from './party-queries.js';
import { contactSearchOf } from './party-search.js';

const typingMs = 250;
const searchMax = 300;

export function ContactListPage() {
  const search = useSearch({ from: '/shell/contacts' });
  const navigate = useNavigate();
  const { data: me } = useQuery(meQuery);
  const create = () => void navigate({ to: '/contacts/new', search: {} });
  return (
    <>
      <PageHeader
        title="Contacts"
        action={me?.role === 'viewer' ? null : <Button onClick={create}>New contact</Button>}
      />
      <Filters search={search} />
      <FoundContacts search={search} />
    </>
  );
}

function FoundContacts({ search }: { readonly search: ContactSearch }) {
  // The former list stays until the next one is there: no flicker at every letter.
  const list = useInfiniteQuery({ ...contactList(search), placeholderData: keepPreviousData });
  return (
    <ListTable
      list={list}
      label="Contacts"
      columns={columns}
      idOf={({ contactId }) => contactId}
      empty={
        search.search !== undefined || search.originatorId !== undefined ? (
          <EmptyState title="No contacts match" text="Change or clear the filters." />
        ) : (
          <EmptyState
            title="No contacts yet"
            text="Save the people and companies that you pay or request money from. Contacts made through the API appear here, too."
          />
        )
      }
    />
  );
}

const columns: readonly Column<Contact>[] = [
  {
    name: 'Name',
    cell: (contact) => (
      <Link to="/contacts/$contactId" params={{ contactId: contact.contactId }}>
        {nameOf(contact) ?? contact.contactId}
      </Link>
    ),
  },
  { name: 'Email', cell: ({ email }) => email, isWide: true },
  { name: 'Bank', cell: ({ bankAccount }) => bankAccount?.bankName, isWide: true },
  {
    name: 'Account',
    cell: ({ bankAccount }) => bankAccount?.achAccountNumber ?? 'None',
    width: 'account',
  },
  {
    name: 'Created',
    cell: ({ createdAt }) => <ShortTime at={createdAt} />,
    isWide: true,
    width: 'time',
  },
];

function Filters({ search }: { readonly search: ContactSearch }) {
  const navigate = useNavigate();
  const originators = useQuery(originatorChoices);
  const [typed, setTyped] = useState(search.search ?? '');
  const [settled] = useDebouncedValue(typed.trim(), typingMs);
  // The address may change without typing: by the navigation, or by going back.
  useEffect(() => setTyped(search.search ?? ''), [search.search]);
  const change = (next: ContactSearch) =>
    void navigate({ to: '/contacts', search: contactSearchOf({ ...next }), replace: true });
  useEffect(() => {
    if (settled === (search.search ?? '') || settled !== typed.trim()) return;
    change({ ...search, search: settled });
    // Only what was typed leads here: an address that changes by itself must stay.
  }, [settled]);
  return (
    <Group gap="sm" mb="md" align="flex-end">
      <TextInput
        label="Find a contact"
        placeholder="Name or e-mail"
        type="search"
        maxLength={searchMax}
        value={typed}
        onChange={({ currentTarget }) => setTyped(currentTarget.value)}
      />
      <NativeSelect
        label="Originator"
        data={[
          { value: '', label: 'All' },
          ...(originators.data ?? []).map((one) => ({
            value: one.originatorId,
            label: nameOf(one) ?? one.originatorId,
          })),
        ]}
        value={search.originatorId ?? ''}
        onChange={({ currentTarget }) => change({ ...search, originatorId: currentTarget.value })}
      />
      {search.search === undefined && search.originatorId === undefined ? null : (
        <Button
          variant="subtle"
          color="gray"
          onClick={() => {
            setTyped('');
            change({});
          }}
        >
          Clear filters
        </Button>
      )}
    </Group>
  );
}
