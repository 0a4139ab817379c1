/** The form of a contact or originator: for a new one, and for changes. */
import { Button, Group, NativeSelect, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { ApiFailure } from '../api.js';
import { Form } from '../form.js';
import { recipientTypes } from '../format.js';
import { FormProblem } from '../ui.js';
import { accountTypes, type PartyForm, problemsOf } from './party-form.js';

interface Send {
  readonly mutate: (form: PartyForm) => void;
  readonly reset: () => void;
  readonly isPending: boolean;
  readonly error: Error | null;
}

interface PartyFieldsProps {
  readonly initial: PartyForm;
  readonly send: Send;
  readonly submit: string;
  readonly back: () => void;
  /** Of a new contact, which may have any. */
  readonly originators?: readonly { readonly value: string; readonly label: string }[];
  /** What can be done with the account on file; none for a new party. */
  readonly accountChoices?: readonly { readonly value: string; readonly label: string }[];
}

export function PartyFields(props: PartyFieldsProps) {
  const { initial, send, originators, accountChoices } = props;
  const [form, setForm] = useState(initial);
  const [found, setFound] = useState<Readonly<Record<string, string>>>({});
  const failure = send.error instanceof ApiFailure ? send.error : null;
  const set = (change: Partial<PartyForm>) => {
    setForm((before) => ({ ...before, ...change }));
    setFound({});
    send.reset();
  };
  const submit = () => {
    const problems = problemsOf(form, initial);
    setFound(problems);
    if (Object.keys(problems).length === 0) send.mutate(form);
  };
  const problemOf = (field: string, sentAs = field) =>
    found[field] ?? failure?.problemOf(sentAs) ?? null;
  const fields = { form, set, problemOf };
  return (
    <Form className="card narrow" sending={send} submit={submit}>
      {failure !== null && failure.problems.length === 0 ? <FormProblem error={failure} /> : null}
      {originators === undefined ? null : (
        <SimpleGrid cols={{ base: 1, xs: 2 }} verticalSpacing="md">
          <Choice {...fields} field="originatorId" label="Originator" data={originators} />
          <Choice {...fields} field="entityType" label="Type" data={optionsOf(recipientTypes)} />
        </SimpleGrid>
      )}
      <Identity {...fields} />
      <Part title="Legal address (optional)">
        <AddressFields {...fields} />
      </Part>
      <Part title={accountChoices === undefined ? 'Bank account (optional)' : 'Bank account'}>
        {accountChoices === undefined || accountChoices.length < 2 ? null : (
          <Choice {...fields} field="account" label="Account on file" data={accountChoices} />
        )}
        {form.account === 'replace' ? <AccountFields {...fields} /> : null}
      </Part>
      <Group justify="flex-end" mt="xs">
        <Button variant="default" onClick={props.back}>
          Back
        </Button>
        <Button type="submit" loading={send.isPending}>
          {props.submit}
        </Button>
      </Group>
    </Form>
  );
}

interface FieldProps {
  readonly form: PartyForm;
  readonly set: (change: Partial<PartyForm>) => void;
  readonly problemOf: (field: string, sentAs?: string) => string | null;
}

interface OneFieldProps extends FieldProps {
  readonly field: keyof PartyForm;
  readonly label: string;
  /** The name that the server knows the field by. */
  readonly sentAs?: string;
}

function Choice({
  form,
  set,
  problemOf,
  field,
  label,
  sentAs,
  data,
}: OneFieldProps & { readonly data: readonly { value: string; label: string }[] }) {
  return (
    <NativeSelect
      label={label}
      data={[...data]}
      value={form[field]}
      error={problemOf(field, sentAs)}
      onChange={({ currentTarget }) => set({ [field]: currentTarget.value })}
    />
  );
}

function Text({
  form,
  set,
  problemOf,
  field,
  label,
  sentAs,
  ...others
}: OneFieldProps & {
  readonly type?: 'email' | 'tel';
  readonly inputMode?: 'numeric';
  readonly description?: string;
}) {
  return (
    <TextInput
      label={label}
      // Of somebody else: the browser's own address is of no use.
      autoComplete="off"
      value={form[field]}
      error={problemOf(field, sentAs)}
      onChange={({ currentTarget }) => set({ [field]: currentTarget.value })}
      {...others}
    />
  );
}

function Identity(props: FieldProps) {
  return (
    <>
      {props.form.entityType === 'BUSINESS' ? (
        <Text {...props} field="companyName" label="Company name" />
      ) : (
        <SimpleGrid cols={{ base: 1, xs: 2 }} verticalSpacing="md">
          <Text {...props} field="firstName" label="First name" />
          <Text {...props} field="lastName" label="Last name" />
        </SimpleGrid>
      )}
      <SimpleGrid cols={{ base: 1, xs: 2 }} verticalSpacing="md">
        <Text {...props} field="email" label="Email" type="email" />
        <Text {...props} field="phoneNumber" label="Phone number" type="tel" />
      </SimpleGrid>
    </>
  );
}

function AddressFields(props: FieldProps) {
  const sent = (field: string) => `legalAddress.${field}`;
  return (
    <>
      <Text {...props} field="addressLine1" label="Address line 1" sentAs={sent('addressLine1')} />
      <SimpleGrid cols={{ base: 1, xs: 2 }} verticalSpacing="md">
        <Text {...props} field="city" label="City" sentAs={sent('city')} />
        <Text {...props} field="state" label="State" sentAs={sent('state')} />
        <Text {...props} field="postalCode" label="ZIP code" sentAs={sent('postalCode')} />
        <Text {...props} field="countryCode" label="Country" sentAs={sent('countryCode')} />
      </SimpleGrid>
    </>
  );
}

function AccountFields(props: FieldProps) {
  const sent = (field: string) => `bankAccount.${field}`;
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }} verticalSpacing="md">
      <Choice
        {...props}
        field="subType"
        label="Account type"
        sentAs={sent('subType')}
        data={optionsOf(accountTypes)}
      />
      <Text
        {...props}
        field="achRoutingNumber"
        label="Routing number"
        sentAs={sent('achRoutingNumber')}
        inputMode="numeric"
      />
      <Text
        {...props}
        field="achAccountNumber"
        label="Account number"
        sentAs={sent('achAccountNumber')}
        inputMode="numeric"
      />
      <Text {...props} field="confirmation" label="Confirm account number" inputMode="numeric" />
      <Text {...props} field="swiftCode" label="SWIFT code" sentAs={sent('swiftCode')} />
    </SimpleGrid>
  );
}

function Part({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <fieldset className="part">
      <legend>{title}</legend>
      <Stack gap="md">{children}</Stack>
    </fieldset>
  );
}

function optionsOf(names: Readonly<Record<string, string>>) {
  return Object.entries(names).map(([value, label]) => ({ value, label }));
}
