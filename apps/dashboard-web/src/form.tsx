import { Stack } from '@mantine/core';
import { type ReactNode, useEffect, useRef, useState } from 'react';

interface Props {
  readonly sending: { readonly isPending: boolean; readonly error: Error | null };
  readonly submit: () => void;
  readonly className?: string;
  /** In pixels. */
  readonly widthMax?: number;
  readonly children: ReactNode;
}

/** A form that cannot be sent again while its request is under way. The first new problem takes the focus. */
export function Form({ sending, submit, className, widthMax, children }: Props) {
  const { isPending, error } = sending;
  const form = useRef<HTMLFormElement>(null);
  const [tries, setTries] = useState(0);
  useEffect(() => {
    form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [tries, error]);
  return (
    <form
      noValidate
      ref={form}
      {...(className === undefined ? {} : { className })}
      onSubmit={(event) => {
        event.preventDefault();
        if (isPending) return;
        setTries(tries + 1);
        submit();
      }}
    >
      <Stack gap="md" maw={widthMax ?? 'none'}>
        {children}
      </Stack>
    </form>
  );
}
