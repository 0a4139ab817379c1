/** The saved views above the filters. */
import { Button, CloseButton, Group, Modal, Stack, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Link } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { hasFilters, isSameSearch, type PaymentSearch } from './payment-search.js';
import { readViews, type SavedView, viewNameMax, withView, writeViews } from './saved-views.js';

interface Props {
  readonly organizationId: string;
  readonly search: PaymentSearch;
}

export function SavedViews({ organizationId, search }: Props) {
  const [views, setViews] = useState(() => readViews(localStorage, organizationId));
  const keep = (changed: readonly SavedView[]) => {
    const isKept = writeViews(localStorage, organizationId, changed);
    if (isKept) setViews(changed);
    return isKept;
  };
  const isSaved = views.some((view) => isSameSearch(view.search, search));
  const canSave = hasFilters(search) && !isSaved;
  if (views.length === 0 && !canSave) return null;
  return (
    <Group gap="xs" mb="md" role="group" aria-label="Saved views">
      {views.map((view) => (
        <span key={view.name} className="saved-view" data-open={isSameSearch(view.search, search)}>
          <Link to="/payments" search={view.search} replace>
            {view.name}
          </Link>
          <CloseButton
            size="xs"
            aria-label={`Delete the view ${view.name}`}
            onClick={() => keep(views.filter(({ name }) => name !== view.name))}
          />
        </span>
      ))}
      {canSave ? <SaveView save={(name) => keep(withView(views, { name, search }))} /> : null}
    </Group>
  );
}

function SaveView({ save }: { readonly save: (name: string) => boolean }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const [name, setName] = useState('');
  const [isRefused, setIsRefused] = useState(false);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (name.trim() === '') return;
    if (save(name.trim())) close();
    else setIsRefused(true);
  };
  return (
    <>
      <Button variant="subtle" size="compact-sm" onClick={open}>
        Save view
      </Button>
      <Modal
        opened={isOpen}
        onClose={close}
        title="Save these filters"
        closeButtonProps={{ 'aria-label': 'Close' }}
        centered
      >
        <form onSubmit={submit}>
          <Stack gap="md">
            <TextInput
              label="Name"
              description="Kept in this browser."
              error={isRefused ? 'This browser keeps no views.' : null}
              value={name}
              maxLength={viewNameMax}
              onChange={(event) => setName(event.currentTarget.value)}
              data-autofocus
              required
            />
            <Group justify="flex-end">
              <Button type="submit">Save</Button>
            </Group>
          </Stack>
        </form>
      </Modal>
    </>
  );
}
