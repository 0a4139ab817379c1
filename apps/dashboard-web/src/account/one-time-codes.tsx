/** One-time codes of an authenticator app: turning them on and off. */
import { Badge, Button, Group, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiFailure, call } from '../api.js';
import { Form } from '../form.js';
import { meQuery, queryClient } from '../queries.js';
import { FormProblem, Section } from '../ui.js';
import { CodeField, PasswordField, wrongSecret } from './secret-inputs.js';
import { sessionsQuery } from './sessions-query.js';

const refresh = () =>
  Promise.all(
    [meQuery, sessionsQuery].map(({ queryKey }) => queryClient.invalidateQueries({ queryKey })),
  );

export function OneTimeCodes({ isOn }: { readonly isOn: boolean }) {
  return (
    <Section title="One-time codes">
      <Stack gap="md">
        <Group gap="xs">
          <Badge variant="light" color={isOn ? 'teal' : 'gray'} radius="sm" tt="none" autoContrast>
            {isOn ? 'On' : 'Off'}
          </Badge>
          <Text size="sm" c="dimmed">
            {isOn
              ? 'Signing in takes a code of your authenticator app.'
              : 'With them, nobody signs in with your password alone.'}
          </Text>
        </Group>
        {isOn ? <TurnOff /> : <TurnOn />}
      </Stack>
    </Section>
  );
}

function TurnOn() {
  const [password, setPassword] = useState('');
  const prepare = useMutation({
    mutationFn: () => call('prepareOneTimeCodes', { body: { password } }),
    onSuccess: () => setPassword(''),
    gcTime: 0,
  });
  const wrong = wrongSecret(prepare.error);
  if (prepare.data !== undefined)
    return <Confirm setup={prepare.data} cancel={() => prepare.reset()} />;
  return (
    <Form className="grows" sending={prepare} submit={() => prepare.mutate()} widthMax={420}>
      {wrong === null ? <FormProblem error={prepare.error} /> : null}
      <PasswordField label="Your password" value={password} onChange={setPassword} error={wrong} />
      <Button type="submit" w="fit-content" loading={prepare.isPending}>
        Turn on
      </Button>
    </Form>
  );
}

function Confirm({
  setup: { secret, qrCode },
  cancel,
}: {
  readonly setup: { readonly secret: string; readonly qrCode: string };
  readonly cancel: () => void;
}) {
  const [code, setCode] = useState('');
  const confirm = useMutation({
    mutationFn: () => call('confirmOneTimeCodes', { body: { code } }),
    onSuccess: refresh,
    onError: () => setCode(''),
  });
  const failure = confirm.error instanceof ApiFailure ? confirm.error : null;
  const wrong = failure?.problemOf('code') ?? null;
  return (
    <Group align="flex-start" gap="lg">
      <img
        className="qr large"
        alt="QR code for the authenticator app"
        src={`data:image/svg+xml;utf8,${encodeURIComponent(qrCode)}`}
      />
      <Form className="grows" sending={confirm} submit={() => confirm.mutate()} widthMax={420}>
        <Text size="sm">
          Scan the QR code with an authenticator app, or type this secret into it. Then enter the
          code that the app shows.
        </Text>
        <code className="link-url">{secret}</code>
        {wrong === null ? <FormProblem error={confirm.error} /> : null}
        <CodeField
          value={code}
          onChange={setCode}
          error={wrong === null ? null : 'This is not the code of this moment.'}
        />
        <Group gap="sm">
          <Button type="submit" loading={confirm.isPending}>
            Confirm
          </Button>
          <Button variant="default" onClick={cancel}>
            Cancel
          </Button>
        </Group>
      </Form>
    </Group>
  );
}

function TurnOff() {
  const [isOpen, setIsOpen] = useState(false);
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const disable = useMutation({
    mutationFn: () => call('disableOneTimeCodes', { body: { password, code } }),
    onSuccess: refresh,
    onError: () => setCode(''),
    gcTime: 0,
  });
  const wrong = wrongSecret(disable.error);
  if (!isOpen)
    return (
      <Button variant="default" w="fit-content" onClick={() => setIsOpen(true)}>
        Turn off
      </Button>
    );
  return (
    <Form className="grows" sending={disable} submit={() => disable.mutate()} widthMax={420}>
      {wrong === null ? <FormProblem error={disable.error} /> : null}
      <PasswordField label="Your password" value={password} onChange={setPassword} error={wrong} />
      <CodeField value={code} onChange={setCode} />
      <Group gap="sm">
        <Button type="submit" color="red" loading={disable.isPending}>
          Yes, turn them off
        </Button>
        <Button variant="default" onClick={() => setIsOpen(false)}>
          Keep them
        </Button>
      </Group>
    </Form>
  );
}
