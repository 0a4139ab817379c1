import { at, given, later } from '../testing.js';
import {
  type OperatorNotice,
  operatorNotice,
  type OperatorNoticeEvent,
} from './operator-notice.js';

const notice: OperatorNotice = {
  notice: 'webhook endpoint failing',
  subject: { endpointId: '7d0f5a51-6a0f-4d39-8c0e-000000000002', failingSince: at },
};
const noticed: OperatorNoticeEvent = { type: 'OperatorNoticeGiven', at, data: notice };

it('an operator notice is given once', () => {
  const first = given(operatorNotice).when({ type: 'GiveOperatorNotice', at, data: notice });
  first.then(noticed);
  expect(first.state()).toStrictEqual({ ...notice, givenAt: at });
  given(operatorNotice, noticed)
    .when({ type: 'GiveOperatorNotice', at: later, data: notice })
    .thenRefused('OPERATOR_NOTICE_ALREADY_GIVEN');
});
