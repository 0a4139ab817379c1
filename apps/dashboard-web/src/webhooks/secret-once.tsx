import { Stack, Text } from '@mantine/core';
import { Copy } from '../values.js';

/** The signing secret of an endpoint. The server shows it once. */
export function SecretOnce({ secret, text }: { readonly secret: string; readonly text: string }) {
  return (
    <Stack gap="xs" align="flex-start">
      <Text size="sm">Copy the signing secret now. It is not shown again. {text}</Text>
      <code className="link-url">{secret}</code>
      <Copy value={secret} name="the signing secret" />
    </Stack>
  );
}
