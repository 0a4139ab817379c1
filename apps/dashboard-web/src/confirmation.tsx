/** A button whose action must be confirmed in a dialog. */
import { Button, type ButtonProps, Group, Modal, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef } from 'react';
import { focusHeading, FormProblem } from './ui.js';

interface Props {
  readonly button: string;
  readonly title: string;
  readonly text: string;
  readonly confirm: string;
  readonly act: () => Promise<unknown>;
  readonly isDangerous?: boolean;
  /** Of the button that opens the dialog. */
  readonly look?: Pick<ButtonProps, 'variant' | 'size'>;
  /** Above the buttons. */
  readonly children?: ReactNode;
}

const plain = { variant: 'default' } as const;

export function Confirmation({
  button,
  title,
  text,
  confirm,
  act,
  isDangerous,
  look = plain,
  children,
}: Props) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const acting = useMutation({ mutationFn: act, onSuccess: close });
  const hasFocus = useRef(false);
  hasFocus.current = isOpen;
  // The action may take the button away with its dialog.
  useEffect(() => () => void (hasFocus.current && focusHeading()), []);
  const color = isDangerous === true ? { color: 'red' } : {};
  return (
    <>
      <Button {...look} {...color} onClick={open}>
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
              {stayText}
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

/** What every question of the dashboard is answered with by whoever changes nothing. */
export const stayText = 'Not now';
