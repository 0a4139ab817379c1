import { at, given, later } from '../testing.js';
import {
  operatorAction,
  type OperatorActionEvent,
  type OperatorActionRecord,
} from './operator-action.js';

const record: OperatorActionRecord = {
  actionId: '7d0f5a51-6a0f-4d39-8c0e-000000000001',
  action: 'api-key revoke',
  subject: { apiKeyId: '7d0f5a51-6a0f-4d39-8c0e-000000000002' },
  actor: 'ada',
  reason: 'the key was found in a log',
  osUser: 'root',
  host: 'bastion',
};
const started: OperatorActionEvent = { type: 'OperatorActionStarted', at, data: record };
const succeed = {
  type: 'SucceedOperatorAction',
  at: later,
  data: { outcome: { revokedAt: later } },
} as const;
const fail = { type: 'FailOperatorAction', at: later, data: { error: 'no answer' } } as const;

describe('an operator action', () => {
  it('records who starts it, what it acts on, and the reason', () => {
    given(operatorAction).when({ type: 'StartOperatorAction', at, data: record }).then(started);
  });

  it('starts once', () => {
    given(operatorAction, started)
      .when({ type: 'StartOperatorAction', at: later, data: record })
      .thenRefused('OPERATOR_ACTION_ALREADY_STARTED');
  });

  it('ends once, as a success or as a failure', () => {
    const succeeded = given(operatorAction, started).when(succeed);
    succeeded.then({
      type: 'OperatorActionSucceeded',
      at: later,
      data: { outcome: { revokedAt: later } },
    });
    expect(succeeded.state()).toStrictEqual({ ...record, startedAt: at, status: 'succeeded' });
    const failed = given(operatorAction, started).when(fail);
    failed.then({ type: 'OperatorActionFailed', at: later, data: { error: 'no answer' } });
    expect(failed.state()).toStrictEqual({ ...record, startedAt: at, status: 'failed' });
    given(operatorAction, started, {
      type: 'OperatorActionFailed',
      at: later,
      data: { error: 'no answer' },
    })
      .when(succeed)
      .thenRefused('OPERATOR_ACTION_ENDED');
  });

  it('cannot end before it starts', () => {
    given(operatorAction).when(fail).thenRefused('OPERATOR_ACTION_NOT_FOUND');
  });
});
