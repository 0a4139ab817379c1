import { contact, type ContactCommand, type ContactEvent } from './contact/contact.js';
import { erasedFields } from './erasure.js';
import {
  originator,
  type OriginatorCommand,
  type OriginatorEvent,
} from './originator/originator.js';
import { at, contactExample, given, ids, later, originatorExample } from './testing.js';

const requestId = 'request-1';
const request = {
  reason: 'asked by letter',
  by: 'user:cli:ada',
  overridesRetention: false,
  requestId,
};
const otherRequest = { ...request, requestId: 'request-2' };

const contactEvents = {
  created: { type: 'ContactCreated', at, data: contactExample() },
  requested: { type: 'ContactErasureRequested', at, data: request },
  withdrawn: { type: 'ContactErasureWithdrawn', at, data: { cause: 'PAYMENTS_NOT_FINAL' } },
  confirmed: { type: 'ContactErasureConfirmed', at, data: {} },
  erased: {
    type: 'ContactErased',
    at,
    data: { organizationId: ids.organization, entityType: 'INDIVIDUAL' },
  },
} as const satisfies Record<string, ContactEvent>;
const { created, requested, withdrawn, confirmed, erased } = contactEvents;

const ask: ContactCommand = { type: 'RequestErasure', at: later, data: request };
const withdraw: ContactCommand = {
  type: 'WithdrawErasure',
  at: later,
  data: { cause: 'RETENTION_RUNNING', requestId },
};
const confirm: ContactCommand = { type: 'ConfirmErasure', at: later, data: { requestId } };
const erase: ContactCommand = { type: 'CompleteErasure', at: later, data: {} };

describe('the erasure of a contact', () => {
  it('goes from the request over the confirmation to its end, each step once', () => {
    given(contact, created)
      .when(ask)
      .then({ ...requested, at: later });
    given(contact, created, requested).when(ask).thenNothing();
    given(contact, created, requested)
      .when(confirm)
      .then({ ...confirmed, at: later });
    given(contact, created, requested, confirmed).when(confirm).thenNothing();
    given(contact, created, requested, confirmed).when(ask).thenNothing();
    given(contact, created, requested, confirmed)
      .when(erase)
      .then({ ...erased, at: later });
    given(contact, created, requested, confirmed, erased).when(erase).thenNothing();
    given(contact, created, requested, confirmed, erased).when(ask).thenNothing();
  });

  it('records the request of another run, which replaces the one under way', () => {
    given(contact, created, requested)
      .when({ type: 'RequestErasure', at: later, data: otherRequest })
      .then({ type: 'ContactErasureRequested', at: later, data: otherRequest });
  });

  it('is confirmed and withdrawn only by the run that made the last request', () => {
    const replacing: ContactEvent = { type: 'ContactErasureRequested', at, data: otherRequest };
    for (const history of [
      [created, requested, replacing],
      [created, requested, withdrawn, replacing],
    ])
      for (const command of [confirm, withdraw])
        given(contact, ...history)
          .when(command)
          .thenRefused('ERASURE_REQUEST_REPLACED');
    const { requestId: _, ...older } = request;
    const ofOlderRelease: ContactEvent = { type: 'ContactErasureRequested', at, data: older };
    given(contact, created, ofOlderRelease).when(confirm).thenRefused('ERASURE_REQUEST_REPLACED');
  });

  it('can be withdrawn until it is confirmed', () => {
    const then = given(contact, created, requested).when(withdraw);
    then.then({ ...withdrawn, at: later, data: { cause: 'RETENTION_RUNNING' } });
    expect(then.state()).toMatchObject({
      ...contactExample(),
      erasure: null,
      erasureRequest: null,
    });
    given(contact, created).when(withdraw).thenNothing();
    given(contact, created, requested, confirmed).when(withdraw).thenRefused('ERASURE_CONFIRMED');
  });

  it('cannot skip a step', () => {
    given(contact).when(ask).thenRefused('CONTACT_NOT_FOUND');
    given(contact, created).when(confirm).thenRefused('ERASURE_NOT_REQUESTED');
    given(contact, created, requested, withdrawn)
      .when(confirm)
      .thenRefused('ERASURE_NOT_REQUESTED');
    given(contact, created, requested).when(erase).thenRefused('ERASURE_NOT_CONFIRMED');
  });

  it('keeps the contact from being changed from the request on', () => {
    const data = { changes: { firstName: 'Eve' }, identity: 'identity-2' };
    const update: ContactCommand = { type: 'UpdateContact', at: later, data };
    for (const history of [
      [created, requested],
      [created, requested, confirmed],
      [created, requested, confirmed, erased],
    ])
      given(contact, ...history)
        .when(update)
        .thenRefused('CONTACT_NOT_FOUND');
    expect(given(contact, created, requested, withdrawn).when(update).state()?.firstName).toBe(
      'Eve',
    );
  });

  it('gives the identity up once it is confirmed', () => {
    const data = { identity: contactExample().identity };
    const forfeit: ContactCommand = { type: 'ForfeitContactIdentity', at: later, data };
    given(contact, created, requested).when(forfeit).thenRefused('IDENTITY_IN_USE');
    given(contact, created, requested, confirmed)
      .when(forfeit)
      .then({ type: 'ContactIdentityForfeited', at: later, data });
  });

  it('leaves ids, entity type and times', () => {
    const { state } = given(contact, created, requested, confirmed).when(erase);
    expect(state()).toStrictEqual({
      ...contactExample(),
      ...erasedFields,
      erased: true,
      createdAt: at,
      updatedAt: later,
      correction: null,
      lastReturn: null,
      erasure: 'erased',
      erasureRequest: null,
    });
  });
});

describe('the erasure of an originator', () => {
  const individual = originatorExample({ entityType: 'INDIVIDUAL' });
  const exists: OriginatorEvent = { type: 'OriginatorCreated', at, data: individual };
  const asked: OriginatorEvent = { type: 'OriginatorErasureRequested', at, data: request };
  const sure: OriginatorEvent = { type: 'OriginatorErasureConfirmed', at, data: {} };
  const askFor: OriginatorCommand = { type: 'RequestErasure', at: later, data: request };
  const end: OriginatorCommand = { type: 'CompleteErasure', at: later, data: {} };

  it('is refused for a business', () => {
    const business: OriginatorEvent = { type: 'OriginatorCreated', at, data: originatorExample() };
    given(originator, business).when(askFor).thenRefused('ORIGINATOR_IS_BUSINESS');
  });

  it('takes the same steps as that of a contact', () => {
    given(originator, exists)
      .when(askFor)
      .then({ ...asked, at: later });
    given(originator, exists, asked)
      .when({ type: 'ConfirmErasure', at: later, data: { requestId } })
      .then({ ...sure, at: later });
    given(originator, exists, asked)
      .when({
        type: 'WithdrawErasure',
        at: later,
        data: { cause: 'RETENTION_RUNNING', requestId },
      })
      .then({
        type: 'OriginatorErasureWithdrawn',
        at: later,
        data: { cause: 'RETENTION_RUNNING' },
      });
    given(originator, exists, asked)
      .when({ type: 'UpdateOriginator', at: later, data: { changes: { firstName: 'Eve' } } })
      .thenRefused('ORIGINATOR_NOT_FOUND');
    const { organizationId } = individual;
    const then = given(originator, exists, asked, sure).when(end);
    then.then({
      type: 'OriginatorErased',
      at: later,
      data: { organizationId, entityType: 'INDIVIDUAL' },
    });
    expect(then.state()).toMatchObject({ ...erasedFields, erased: true, erasure: 'erased' });
  });
});
