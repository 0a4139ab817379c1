import { Button, CopyButton, Stack, Text } from '@mantine/core';

/** A generated password. */
export function NewPassword({ password }: { readonly password: string }) {
  return (
    <Stack gap="xs" w="100%" maw={420}>
      <code className="link-url">{password}</code>
      <Text size="sm" c="dimmed">
        Copy the password now. It is not shown again.
      </Text>
      <CopyButton value={password}>
        {({ copied, copy }) => (
          <Button variant="default" size="xs" w="fit-content" onClick={copy}>
            {copied ? 'Copied' : 'Copy the password'}
          </Button>
        )}
      </CopyButton>
    </Stack>
  );
}
