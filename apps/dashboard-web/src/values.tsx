/** Values that people compare with other systems: times to the millisecond, and texts to copy. */
import { CopyButton, Stack, Text, UnstyledButton } from '@mantine/core';
import { useEffect, useId, useRef } from 'react';
import { timeText } from './format.js';

/** In the reader's time zone. With the pointer on it or the focus: UTC to the millisecond. */
export function ExactTime({ at }: { readonly at: string }) {
  return (
    // Focusable, so that the exact time can be read without a pointer.
    <time className="exact-time" dateTime={at} tabIndex={0} data-utc={`${utcText(at)} UTC`}>
      {timeText(at)}
    </time>
  );
}

function utcText(at: string): string {
  return new Date(at).toISOString().replace('T', ' ').replace('Z', '');
}

interface CopyableProps {
  readonly value: string;
  /** What it is, for the button's name: `Copy the trace ID`. */
  readonly name: string;
}

/** A text with a button that copies it. */
export function Copyable({ value, name }: CopyableProps) {
  return (
    <span className="copyable">
      <code>{value}</code>
      <Copy value={value} name={name} />
    </span>
  );
}

export function Copy({ value, name }: CopyableProps) {
  return (
    <CopyButton value={value}>
      {({ copied, copy }) => (
        <UnstyledButton
          className="copy"
          onClick={copy}
          aria-label={copied ? `Copied ${name}` : `Copy ${name}`}
        >
          {copied ? 'Copied' : 'Copy'}
        </UnstyledButton>
      )}
    </CopyButton>
  );
}

/** A secret that the server shows this once. It takes the focus, so that a screen reader tells of it. */
export function ShownOnce({ value, name }: CopyableProps) {
  const group = useRef<HTMLDivElement>(null);
  const id = useId();
  useEffect(() => group.current?.focus(), []);
  return (
    <Stack gap="xs" w="100%" ref={group} tabIndex={-1} role="group" aria-labelledby={id}>
      <Text size="sm" id={id}>
        Copy {name} now. It is not shown again.
      </Text>
      <code className="link-url">{value}</code>
      <Copy value={value} name={name} />
    </Stack>
  );
}
