/** Counters by organization, with a bounded number of series. */
import { Counter, type Registry } from 'prom-client';
import { Busiest } from './busiest.js';

const organizationsMax = 20;
const countedMax = 10_000;
const windowMs = 600_000;

/**
 * @param values what is counted of an organization: the values of the label
 * @returns counts one event
 */
export function organizationCounter<const Value extends string>(
  registry: Registry,
  {
    name,
    help,
    label,
    values,
  }: {
    readonly name: string;
    readonly help: string;
    readonly label: string;
    readonly values: readonly Value[];
  },
  nowMs: () => number = () => performance.now(),
): (organizationId: string, value: Value) => void {
  const counter = new Counter({
    name,
    help: `${help}; of the ${organizationsMax} busiest organizations of this process, and of all others together`,
    labelNames: ['organization', label],
    registers: [registry],
  });
  const busiest = new Busiest({
    ...{ namesMax: organizationsMax, countedMax, windowMs, nowMs },
    onDropped: (organization) => {
      for (const value of values) counter.remove({ organization, [label]: value });
    },
  });
  return (organizationId, value) =>
    counter.inc({ organization: busiest.nameOf(organizationId), [label]: value });
}
