import { Group, Text } from '@mantine/core';
import icon from './icon.svg';

export function Brand({ name = 'Payment Initiation' }: { readonly name?: string }) {
  return (
    <Group gap="sm" wrap="nowrap">
      <img src={icon} alt="" width={28} height={28} />
      <Text fw={600} size="sm" truncate>
        {name}
      </Text>
    </Group>
  );
}
