/** Grants as entries of a broker, in the numbers of Kafka's protocol, which the clients share. */
import type { KafkaAcl } from './kafka-port.js';

const resourceTypes = { topic: 2, group: 3 } as const satisfies Record<
  KafkaAcl['resource'],
  number
>;
const operations = {
  read: 3,
  write: 4,
  describe: 8,
} as const satisfies Record<KafkaAcl['operation'], number>;
/** Of one resource by its full name, allowed, from everywhere: all that we ever grant. */
const plain = { host: '*', resourcePatternType: 3, permissionType: 3 } as const;

interface EntriesOfResource {
  readonly resourceType: number;
  readonly resourceName: string;
  readonly resourcePatternType: number;
  readonly acls: readonly {
    readonly principal: string;
    readonly host: string;
    readonly operation: number;
    readonly permissionType: number;
  }[];
}

export function entryOf({ principal, resource, name, operation }: KafkaAcl) {
  return {
    ...plain,
    principal,
    resourceType: resourceTypes[resource],
    resourceName: name,
    operation: operations[operation],
  };
}

/** The plain ones among them. */
export function grantsIn(resources: readonly EntriesOfResource[]): readonly KafkaAcl[] {
  return resources.flatMap(({ acls, resourceType, resourceName: name, resourcePatternType }) =>
    acls.flatMap(({ principal, host, operation: operationType, permissionType }): KafkaAcl[] => {
      const resource = keyOf(resourceTypes, resourceType);
      const operation = keyOf(operations, operationType);
      const isPlain =
        host === plain.host &&
        resourcePatternType === plain.resourcePatternType &&
        permissionType === plain.permissionType;
      if (!isPlain || resource === null || operation === null) return [];
      return [{ principal, resource, name, operation }];
    }),
  );
}

/** Null for what we never set. */
function keyOf<Key extends string>(
  table: Readonly<Record<Key, number>>,
  value: number,
): Key | null {
  return (Object.keys(table) as Key[]).find((key) => table[key] === value) ?? null;
}
