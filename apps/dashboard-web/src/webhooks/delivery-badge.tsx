import { Badge } from '@mantine/core';
import { deliveryStates } from './delivery-search.js';
import type { Delivery } from './webhook-data.js';

const colors = {
  pending: 'yellow',
  delivered: 'teal',
  failed: 'red',
  canceled: 'gray',
} as const satisfies Record<Delivery['state'], string>;

export function DeliveryBadge({ state }: { readonly state: Delivery['state'] }) {
  return (
    <Badge variant="light" color={colors[state]} radius="sm" tt="none">
      {deliveryStates[state]}
    </Badge>
  );
}
