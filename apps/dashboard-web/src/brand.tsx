import { Group, Text } from '@mantine/core';
import icon from './icon.svg';

export function Brand({
  name = 'Payment Initiation',
  logo = null,
}: {
  readonly name?: string;
  /** Instead of the service's own. The name is beside it. */
  readonly logo?: string | null;
}) {
  return (
    <Group gap="sm" wrap="nowrap">
      <img src={logo ?? icon} alt="" width={28} height={28} className="brand-picture" />
      <Text fw={600} size="sm" truncate>
        {name}
      </Text>
    </Group>
  );
}
