/**
 * Who is paid or asked for money: a saved contact of the originator, or somebody new. The server narrows the
 * choice to what the reader looks for, so that any number of contacts can be chosen from.
 */
import { NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { callPage, type Page } from '../api.js';
import { nameOf } from '../format.js';
import { accountText, type Contact, contactQuery } from '../parties/party-queries.js';

export const newRecipient = 'new';

const pageSize = '100';
/** More is no choice but a search. */
const choicesMax = 500;
/** Of a search, which finds few: an empty page costs the server as much as a full one. */
const searchPagesMax = 20;
const typingMs = 250;
const searchMax = 300;

interface Choices {
  readonly contacts: readonly Contact[];
  readonly isWhole: boolean;
}

/** The newest contacts of an originator, or those that a search finds. */
export const recipientChoices = (originatorId: string, search: string) =>
  queryOptions({
    queryKey: ['contacts', 'choices', originatorId, search],
    queryFn: async ({ signal }): Promise<Choices> => {
      const contacts: Contact[] = [];
      let cursor: string | null = null;
      let pages = 0;
      do {
        const page: Page<readonly Contact[]> = await callPage('listContacts', {
          query: {
            ...(originatorId === '' ? {} : { originatorId }),
            ...(search === '' ? {} : { search }),
            ...(cursor === null ? {} : { cursor }),
            limit: pageSize,
          },
          signal,
        });
        contacts.push(...page.data);
        cursor = page.nextCursor;
        pages += 1;
      } while (cursor !== null && contacts.length < choicesMax && pages < searchPagesMax);
      return { contacts, isWhole: cursor === null };
    },
    placeholderData: keepPreviousData,
  });

interface RecipientChoiceProps {
  readonly originatorId: string;
  readonly direction: string;
  /** A contact's ID, or newRecipient. */
  readonly value: string;
  readonly problem: string | null;
  readonly needsApproval: boolean;
  readonly onChange: (value: string) => void;
}

export function RecipientChoice({
  originatorId,
  direction,
  value,
  problem,
  needsApproval,
  onChange,
}: RecipientChoiceProps) {
  const [typed, setTyped] = useState('');
  const [search] = useDebouncedValue(typed.trim(), typingMs);
  const choices = useQuery(recipientChoices(originatorId, search));
  const isSaved = value !== newRecipient;
  const chosen = useQuery({ ...contactQuery(value), enabled: isSaved });
  const contact = isSaved ? chosen.data?.contact : undefined;
  const { contacts = [], isWhole = true } = choices.data ?? {};
  // What was chosen stays so while the reader looks for another one.
  const shown = [
    ...(contact === undefined || contacts.some(({ contactId }) => contactId === value)
      ? []
      : [contact]),
    ...contacts.filter((one) => one.originatorId === originatorId),
  ];
  return (
    <Stack gap={6}>
      <NativeSelect
        label="Recipient"
        data={[
          { value: newRecipient, label: 'New recipient' },
          ...shown.map((one) => ({ value: one.contactId, label: labelIn(shown, one) })),
        ]}
        value={value}
        error={problem ?? choices.error?.message ?? null}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      />
      <TextInput
        label="Find a contact"
        placeholder="Name or e-mail"
        type="search"
        size="xs"
        maxLength={searchMax}
        value={typed}
        onChange={({ currentTarget }) => setTyped(currentTarget.value)}
      />
      <Text size="xs" c="dimmed" role="status">
        {foundText(search, contacts.length, isWhole)}
      </Text>
      {contact === undefined ? null : (
        <Text size="sm" className="breaks">
          {contact.email} · {accountText(contact) ?? 'no account on file'}
        </Text>
      )}
      {isSaved && chosen.data === undefined ? null : (
        <Text size="sm" fw={500}>
          {wayOf(direction, isSaved && chosen.data?.isActive === true, needsApproval)}
        </Text>
      )}
    </Stack>
  );
}

/** How the payment will go. The service sends a link to nobody. */
export function wayOf(direction: string, isActive: boolean, needsApproval = false): string {
  const link = needsApproval ? 'get a link once it is approved' : 'get a link';
  if (direction === 'INBOUND')
    return `You ${link}. Send the link to the recipient, who enters the account to pay from.`;
  if (!isActive)
    return `There is no active account on file, so you ${link}. Send the link to the recipient, who enters the account.`;
  return needsApproval
    ? 'The payment starts once it is approved, to the account on file.'
    : 'The payment starts at once, to the account on file.';
}

function foundText(search: string, count: number, isWhole: boolean): string {
  if (search === '') return isWhole ? '' : `The newest ${count} contacts are listed.`;
  if (count === 0) return 'No contacts found.';
  return `${count}${isWhole ? '' : ' or more'} found: choose above.`;
}

/** Two contacts may have the same name. Their e-mail addresses tell them apart. */
function labelIn(all: readonly Contact[], contact: Contact): string {
  const name = nameOf(contact) ?? contact.contactId;
  const isUnique = all.every((one) => one === contact || nameOf(one) !== name);
  return isUnique ? name : `${name} (${contact.email ?? contact.contactId})`;
}
