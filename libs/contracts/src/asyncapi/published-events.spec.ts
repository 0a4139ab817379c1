import { paymentStatuses } from '@pis/domain';
import * as examples from '../openapi/examples.js';
import { judgeBy } from '../testing.js';
import { jsonSchemaOf, publishedEvents } from './published-events.js';

/** An event on the broker with this content. */
const published = (eventType: string, data: unknown) => ({
  ...{ eventId: examples.paymentId, eventType, organizationId: examples.originatorId },
  ...{ position: '00000000000000000042', occurredAt: examples.timestamp, data },
});
const problemsOf = (name: string, value: unknown) => {
  const found = publishedEvents.find((event) => event.name === name);
  if (found === undefined) throw new Error(`no event ${name}`);
  const { $schema: _, ...schema } = jsonSchemaOf(found);
  return judgeBy({}).exactProblems(schema, value);
};

it.each(paymentStatuses)('the schema of payment events accepts one in %s', (status) => {
  const { eventType, data } = examples.paymentEvent(status);
  expect(problemsOf('payment-event', published(eventType, data))).toEqual([]);
});

it('the schemas of the other events accept what the API shows', () => {
  const contact = published('contact.created', examples.contact);
  expect(problemsOf('contact-event', contact)).toEqual([]);
  const originator = published('originator.created', examples.originator);
  expect(problemsOf('originator-event', originator)).toEqual([]);
  const { data } = examples.statementEvent;
  expect(problemsOf('statement-event', published('statement.generated', data))).toEqual([]);
});

it('a schema refuses an event of another kind, and one without a field', () => {
  const contact = published('originator.created', examples.contact);
  expect(problemsOf('contact-event', contact)).toHaveLength(1);
  const { position: _, ...cut } = published('contact.created', examples.contact);
  expect(problemsOf('contact-event', cut)).toHaveLength(1);
});
