/** The filters above the list of payments. They are in the address. */
import { Button, Group, NativeSelect, TextInput } from '@mantine/core';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { call } from '../api.js';
import { directionNames, nameOf, rails, statusNames } from '../format.js';
import { contactQuery } from '../parties/party-queries.js';
import { originatorChoices } from '../queries.js';
import { hasFilters, type PaymentSearch, paymentSearchOf } from './payment-search.js';

const typingMs = 400;

const anyOption = { value: '', label: 'All' };
const optionsOf = (names: Readonly<Record<string, string>>) => [
  anyOption,
  ...Object.entries(names).map(([value, label]) => ({ value, label })),
];
const statusOptions = optionsOf(statusNames);
const directionOptions = optionsOf(directionNames);
const railOptions = [anyOption, ...rails.map((rail) => ({ value: rail, label: rail }))];

type Change = (name: keyof PaymentSearch, value: string) => void;

export function PaymentFilters({ search }: { readonly search: PaymentSearch }) {
  const navigate = useNavigate();
  const [isOpen, setOpen] = useState(() => {
    const { status: _status, direction: _direction, ...rare } = search;
    return hasFilters(rare);
  });
  const change: Change = (name, value) =>
    void navigate({
      to: '/payments',
      search: (former) => paymentSearchOf({ ...former, [name]: value }),
      replace: true,
    });
  const clear = () => void navigate({ to: '/payments', search: {}, replace: true });
  return (
    <>
      <Group gap="sm" mb="md" align="flex-end">
        <NativeSelect
          label="Status"
          data={statusOptions}
          value={search.status ?? ''}
          onChange={(event) => change('status', event.currentTarget.value)}
        />
        <NativeSelect
          label="Direction"
          data={directionOptions}
          value={search.direction ?? ''}
          onChange={(event) => change('direction', event.currentTarget.value)}
        />
        <Button
          variant="default"
          aria-expanded={isOpen}
          aria-controls="more-filters"
          onClick={() => setOpen(!isOpen)}
        >
          {isOpen ? 'Fewer filters' : 'More filters'}
        </Button>
        {hasFilters(search) ? (
          <Button variant="subtle" color="gray" onClick={clear}>
            Clear filters
          </Button>
        ) : null}
      </Group>
      <div id="more-filters" hidden={!isOpen}>
        {isOpen ? <MoreFilters search={search} change={change} /> : null}
      </div>
    </>
  );
}

function MoreFilters({
  search,
  change,
}: {
  readonly search: PaymentSearch;
  readonly change: Change;
}) {
  return (
    <Group gap="sm" mb="md" align="flex-end">
      <PartyFilters search={search} change={change} />
      <NativeSelect
        label="Rail"
        data={railOptions}
        value={search.paymentRail ?? ''}
        onChange={(event) => change('paymentRail', event.currentTarget.value)}
      />
      <ExternalIdFilter
        value={search.externalPaymentId ?? ''}
        change={(value) => change('externalPaymentId', value)}
      />
      <TextInput
        type="date"
        label="Created from (UTC)"
        max={search.createdTo}
        value={search.createdFrom ?? ''}
        onChange={(event) => change('createdFrom', event.currentTarget.value)}
      />
      <TextInput
        type="date"
        label="Created to (UTC)"
        min={search.createdFrom}
        value={search.createdTo ?? ''}
        onChange={(event) => change('createdTo', event.currentTarget.value)}
      />
    </Group>
  );
}

const choicesMax = '100';

/** The newest contacts, of the originator if one is chosen. */
const contactsOf = (originatorId: string | undefined) =>
  queryOptions({
    queryKey: ['contacts', 'filter', originatorId],
    queryFn: ({ signal }) =>
      call('listContacts', {
        query: { limit: choicesMax, ...(originatorId === undefined ? {} : { originatorId }) },
        signal,
      }),
  });

function PartyFilters({
  search,
  change,
}: {
  readonly search: PaymentSearch;
  readonly change: Change;
}) {
  const { originatorId, contactId } = search;
  const originators = useQuery(originatorChoices).data ?? [];
  const contacts = useQuery(contactsOf(originatorId)).data ?? [];
  // One of many is chosen on its own page, which leads here.
  const chosen = useQuery({ ...contactQuery(contactId ?? ''), enabled: contactId !== undefined });
  const choices = contacts.map((one) => ({
    value: one.contactId,
    label: nameOf(one) ?? 'Erased',
  }));
  const isListed = choices.some(({ value }) => value === contactId);
  const contact = contactId === undefined || isListed ? undefined : chosen.data?.contact;
  return (
    <>
      <NativeSelect
        label="Originator"
        className="party-filter"
        data={choicesOf(
          originators.map((one) => ({ value: one.originatorId, label: nameOf(one) ?? 'Erased' })),
          originatorId,
        )}
        value={originatorId ?? ''}
        onChange={(event) => change('originatorId', event.currentTarget.value)}
      />
      <NativeSelect
        label="Contact"
        className="party-filter"
        data={choicesOf(
          contact === undefined
            ? choices
            : [...choices, { value: contact.contactId, label: nameOf(contact) ?? 'Erased' }],
          contactId,
        )}
        value={contactId ?? ''}
        onChange={(event) => change('contactId', event.currentTarget.value)}
      />
    </>
  );
}

/** The choice of an address may be none of the first ones: it stays chosen, by its ID. */
function choicesOf(
  choices: readonly { readonly value: string; readonly label: string }[],
  chosen: string | undefined,
) {
  const isKnown = chosen === undefined || choices.some(({ value }) => value === chosen);
  return [anyOption, ...choices, ...(isKnown ? [] : [{ value: chosen, label: chosen }])];
}

/** Asks once the typing has paused. */
function ExternalIdFilter({
  value,
  change,
}: {
  readonly value: string;
  readonly change: (value: string) => void;
}) {
  const [typed, setTyped] = useState(value);
  // The filters were cleared, or a saved view was opened.
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    if (typed === value) return;
    const timer = setTimeout(() => change(typed), typingMs);
    return () => clearTimeout(timer);
    // Not `change`: it is new with each rendering.
  }, [typed, value]);
  return (
    <TextInput
      label="External ID"
      value={typed}
      maxLength={255}
      onChange={(event) => setTyped(event.currentTarget.value)}
    />
  );
}
