/** A button whose action must be confirmed in a dialog. */
import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { FormProblem } from '../ui.js';

interface Props {
  readonly button: string;
  readonly title: string;
  readonly text: string;
  readonly confirm: string;
  readonly act: () => Promise<unknown>;
  readonly isDangerous?: boolean;
  /** Above the buttons. */
  readonly children?: ReactNode;
}

export function Confirmation({ button, title, text, confirm, act, isDangerous, children }: Props) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const acting = useMutation({ mutationFn: act, onSuccess: close });
  const color = isDangerous === true ? { color: 'red' } : {};
  return (
    <>
      <Button variant="default" {...color} onClick={open}>
        {button}
      </Button>
      <Modal
        opened={isOpen}
        onClose={close}
        title={title}
        closeButtonProps={{ 'aria-label': 'Close' }}
        centered
      >
        <Stack gap="md">
          <Text size="sm">{text}</Text>
          {children}
          <FormProblem error={acting.error} />
          <Group justify="flex-end">
            <Button variant="default" onClick={close} data-autofocus>
              Keep it
            </Button>
            <Button {...color} loading={acting.isPending} onClick={() => acting.mutate()}>
              {confirm}
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  );
}
