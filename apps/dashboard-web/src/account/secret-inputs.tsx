/** The fields with which users prove once more who they are. */
import { TextInput } from '@mantine/core';
import { ApiFailure } from '../api.js';

/** Whether the server says that the user is not the one who knows the password; null for no. */
export function wrongSecret(error: Error | null): string | null {
  const isWrong = error instanceof ApiFailure && error.problemOf('password') !== null;
  return isWrong ? 'The password or the code is wrong.' : null;
}

interface Props {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly error?: string | null;
}

export function PasswordField({
  label,
  isNew = false,
  value,
  onChange,
  error = null,
}: Props & { readonly label: string; readonly isNew?: boolean }) {
  return (
    <TextInput
      label={label}
      type="password"
      autoComplete={isNew ? 'new-password' : 'current-password'}
      value={value}
      error={error}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}

export function CodeField({ value, onChange, error = null }: Props) {
  return (
    <TextInput
      label="One-time code"
      inputMode="numeric"
      autoComplete="one-time-code"
      maw={200}
      value={value}
      error={error}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}
