import { at, given, later } from '../testing.js';
import { userAction, type UserActionEvent, type UserActionRecord } from './user-action.js';

const userId = '7d0f5a51-6a0f-4d39-8c0e-000000000003';
const record: UserActionRecord = {
  actionId: '7d0f5a51-6a0f-4d39-8c0e-000000000001',
  organizationId: '7d0f5a51-6a0f-4d39-8c0e-000000000002',
  userId,
  action: 'signIn',
  subject: {},
  client: { userId, address: '203.0.113.1', userAgent: null },
};
const started: UserActionEvent = { type: 'UserActionStarted', at, data: record };
const succeeded: UserActionEvent = { type: 'UserActionSucceeded', at: later, data: {} };
const succeed = { type: 'SucceedUserAction', at: later, data: {} } as const;
const fail = { type: 'FailUserAction', at: later, data: { error: 'CONFLICT' } } as const;

describe('an action of a user', () => {
  it('starts once', () => {
    given(userAction).when({ type: 'StartUserAction', at, data: record }).then(started);
    given(userAction, started)
      .when({ type: 'StartUserAction', at: later, data: record })
      .thenRefused('USER_ACTION_ALREADY_STARTED');
  });

  it('ends once, as a success or as a failure', () => {
    const success = given(userAction, started).when(succeed);
    success.then(succeeded);
    expect(success.state()).toStrictEqual({ ...record, startedAt: at, status: 'succeeded' });
    const failure = given(userAction, started).when(fail);
    failure.then({ type: 'UserActionFailed', at: later, data: { error: 'CONFLICT' } });
    expect(failure.state()).toStrictEqual({ ...record, startedAt: at, status: 'failed' });
    given(userAction, started, succeeded).when(fail).thenRefused('USER_ACTION_ENDED');
  });

  it('cannot end before it starts', () => {
    given(userAction).when(fail).thenRefused('USER_ACTION_NOT_FOUND');
  });
});
