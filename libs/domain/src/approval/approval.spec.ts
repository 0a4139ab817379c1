import { at, given, ids, later } from '../testing.js';
import { contactParty } from '../testing/payment-examples.js';
import {
  approval,
  type ApprovalCommand,
  type ApprovalEvent,
  approvalLifetimeMs,
  type ApprovalRequest,
  isExpired,
} from './approval.js';

const [ada, bob, cleo] = ['user-ada', 'user-bob', 'user-cleo'] as const;
const request: ApprovalRequest = {
  approvalId: ids.payment,
  organizationId: ids.organization,
  originatorId: ids.originator,
  direction: 'OUTBOUND',
  contactId: ids.contact,
  recipient: contactParty,
  amountMinor: 5_000,
  paymentNote: null,
  externalPaymentId: null,
  requestedBy: ada,
};
const requested: ApprovalEvent = { type: 'ApprovalRequested', at, data: request };
const granted: ApprovalEvent = { type: 'ApprovalGranted', at: later, data: { grantedBy: bob } };
const rejected: ApprovalEvent = {
  type: 'ApprovalRejected',
  at: later,
  data: { rejectedBy: bob, reason: 'too much' },
};
const withdrawn: ApprovalEvent = { type: 'ApprovalWithdrawn', at: later, data: {} };
const ended: ApprovalEvent = { type: 'ApprovalEnded', at: later, data: { cause: 'PARTY_ERASED' } };
const paymentCreated: ApprovalEvent = { type: 'ApprovedPaymentCreated', at: later, data: {} };
const refusal = { refused: 'CONTACT_NOT_FOUND', problems: [] };
const paymentRefused: ApprovalEvent = {
  type: 'ApprovedPaymentRefused',
  at: later,
  data: refusal,
};

const grant = (userId: string = bob, role: 'operator' | 'approver' | 'admin' = 'approver') =>
  ({ type: 'GrantApproval', at: later, data: { userId, role } }) as const;
const reject = (userId: string = bob, role: 'operator' | 'approver' | 'admin' = 'approver') =>
  ({ type: 'RejectApproval', at: later, data: { userId, role, reason: 'too much' } }) as const;
const withdraw = (userId: string = ada) =>
  ({ type: 'WithdrawApproval', at: later, data: { userId } }) as const;
const end: ApprovalCommand = { type: 'EndApproval', at: later, data: { cause: 'PARTY_ERASED' } };
const noteCreated: ApprovalCommand = { type: 'NotePaymentCreated', at: later, data: {} };
const noteRefused: ApprovalCommand = { type: 'NotePaymentRefused', at: later, data: refusal };

it('is requested once, and waits for seven days', () => {
  const ask: ApprovalCommand = { type: 'RequestApproval', at, data: request };
  const then = given(approval).when(ask);
  then.then(requested);
  expect(then.state()).toMatchObject({
    ...request,
    status: 'WAITING',
    requestedAt: at,
    expiresAt: new Date(Date.parse(at) + approvalLifetimeMs).toISOString(),
    decidedBy: null,
  });
  given(approval, requested).when(ask).thenRefused('APPROVAL_ALREADY_EXISTS');
});

it('nothing can be decided on an approval that does not exist', () => {
  for (const command of [grant(), reject(), withdraw(), end, noteCreated, noteRefused])
    given(approval).when(command).thenRefused('APPROVAL_NOT_FOUND');
});

it('is granted or rejected by another approver or administrator', () => {
  for (const role of ['approver', 'admin'] as const) {
    given(approval, requested).when(grant(bob, role)).then(granted);
    given(approval, requested).when(reject(bob, role)).then(rejected);
  }
});

it('is never decided by who requested it, whatever the role, nor by a lower role', () => {
  for (const role of ['approver', 'admin'] as const) {
    given(approval, requested).when(grant(ada, role)).thenRefused('OWN_REQUEST');
    given(approval, requested).when(reject(ada, role)).thenRefused('OWN_REQUEST');
  }
  given(approval, requested).when(grant(bob, 'operator')).thenRefused('ROLE_CANNOT_APPROVE');
  given(approval, requested).when(reject(bob, 'operator')).thenRefused('ROLE_CANNOT_APPROVE');
});

it('is withdrawn by who requested it alone', () => {
  given(approval, requested).when(withdraw()).then(withdrawn);
  given(approval, requested).when(withdraw(bob)).thenRefused('NOT_OWN_REQUEST');
});

it.each<[string, ApprovalEvent]>([
  ['granted', granted],
  ['rejected', rejected],
  ['withdrawn', withdrawn],
  ['ended', ended],
])('stays %s: whoever comes later is refused', (_how, event) => {
  const is = given(approval, requested, event);
  is.when(grant(cleo)).thenRefused('APPROVAL_DECIDED');
  is.when(reject(cleo)).thenRefused('APPROVAL_DECIDED');
  is.when(end).thenNothing();
  if (event !== withdrawn) is.when(withdraw()).thenRefused('APPROVAL_DECIDED');
});

it('a repeated decision of the same user records nothing', () => {
  given(approval, requested, granted).when(grant()).thenNothing();
  given(approval, requested, granted, paymentCreated).when(grant()).thenNothing();
  given(approval, requested, granted, paymentRefused).when(grant()).thenNothing();
  given(approval, requested, rejected).when(reject()).thenNothing();
  given(approval, requested, withdrawn).when(withdraw()).thenNothing();
});

it('expires after seven days, without an event', () => {
  const lastMs = Date.parse(at) + approvalLifetimeMs;
  const inTime = new Date(lastMs - 1).toISOString();
  const tooLate = new Date(lastMs).toISOString();
  given(approval, requested)
    .when({ ...grant(), at: inTime })
    .then({ ...granted, at: inTime });
  for (const command of [grant(), reject(), withdraw()])
    given(approval, requested)
      .when({ ...command, at: tooLate })
      .thenRefused('APPROVAL_EXPIRED');
  const state = approval.evolve(null, requested);
  if (state === null) throw new Error('no state');
  expect([isExpired(state, inTime), isExpired(state, tooLate)]).toEqual([false, true]);
  const decided = approval.evolve(state, rejected);
  expect(decided !== null && isExpired(decided, tooLate)).toBe(false);
});

it('is not granted for somebody who was erased, and ends', () => {
  const recipient = { ...contactParty, firstName: null, lastName: null, erased: true } as const;
  const ofErased: ApprovalEvent = { ...requested, data: { ...request, recipient } };
  given(approval, ofErased).when(grant()).thenRefused('PARTY_ERASED');
  given(approval, requested).when(end).then(ended);
});

it('has an outcome only once it was granted, and a payment that exists is the last word', () => {
  for (const events of [
    [requested, rejected],
    [requested, withdrawn],
  ])
    given(approval, ...events)
      .when(noteCreated)
      .thenRefused('APPROVAL_NOT_GRANTED');
  for (const events of [[requested], [requested, rejected], [requested, withdrawn]])
    given(approval, ...events)
      .when(noteRefused)
      .thenRefused('APPROVAL_NOT_GRANTED');
  given(approval, requested, granted).when(noteCreated).then(paymentCreated);
  given(approval, requested, granted).when(noteRefused).then(paymentRefused);
  given(approval, requested, granted, paymentCreated).when(noteCreated).thenNothing();
  given(approval, requested, granted, paymentCreated).when(noteRefused).thenNothing();
  const settled = given(approval, requested, granted, paymentRefused).when(noteCreated);
  settled.then(paymentCreated);
  expect(settled.state()).toMatchObject({ status: 'CREATED', refusal: null, decidedBy: bob });
});

it('is over once its payment exists without it', () => {
  const over = given(approval, requested).when(noteCreated);
  over.then(paymentCreated);
  expect(over.state()).toMatchObject({ status: 'CREATED', decidedBy: null, decidedAt: later });
  const created = given(approval, requested, paymentCreated);
  for (const command of [grant(), reject(), withdraw()])
    created.when(command).thenRefused('APPROVAL_DECIDED');
});
