import { at, fold, given, ids, later } from '../testing.js';
import {
  contactIdentity,
  type ContactIdentityCommand,
  type ContactIdentityEvent,
} from './contact-identity.js';

const { contact: mine, otherContact: theirs } = ids;
const reserve = (contactId: string, insteadOf: string | null = null): ContactIdentityCommand => ({
  type: 'ReserveContactIdentity',
  at: later,
  data: { contactId, insteadOf },
});
const release = (contactId: string): ContactIdentityCommand => ({
  type: 'ReleaseContactIdentity',
  at: later,
  data: { contactId },
});
const reserved = (contactId: string, time = at): ContactIdentityEvent => ({
  type: 'ContactIdentityReserved',
  at: time,
  data: { contactId },
});
const released = (contactId: string, time = at): ContactIdentityEvent => ({
  type: 'ContactIdentityReleased',
  at: time,
  data: { contactId },
});

describe('reserving an identity', () => {
  it('gives it to the first who asks', () => {
    const then = given(contactIdentity).when(reserve(mine));
    then.then(reserved(mine, later));
    expect(then.state()).toStrictEqual({ holder: mine });
  });

  it('refuses a second contact', () => {
    given(contactIdentity, reserved(theirs)).when(reserve(mine)).thenRefused('IDENTITY_HELD');
  });

  it('writes again for its holder, so that a takeover at the old revision fails', () => {
    given(contactIdentity, reserved(mine)).when(reserve(mine)).then(reserved(mine, later));
  });

  it('takes it from the holder that is known to have forfeited it', () => {
    const then = given(contactIdentity, reserved(theirs)).when(reserve(mine, theirs));
    then.then(reserved(mine, later));
    expect(then.state()).toStrictEqual({ holder: mine });
  });

  it('does not take it from any other holder: a third contact was quicker', () => {
    given(contactIdentity, reserved(theirs), reserved('quicker'))
      .when(reserve(mine, theirs))
      .thenRefused('IDENTITY_HELD');
  });

  it('works when the holder has released it meanwhile', () => {
    const history = [reserved(theirs), released(theirs)];
    given(contactIdentity, ...history)
      .when(reserve(mine))
      .then(reserved(mine, later));
    given(contactIdentity, ...history)
      .when(reserve(mine, theirs))
      .then(reserved(mine, later));
  });
});

describe('releasing an identity', () => {
  it('frees it', () => {
    const then = given(contactIdentity, reserved(mine)).when(release(mine));
    then.then(released(mine, later));
    expect(then.state()).toStrictEqual({ holder: null });
  });

  it('does nothing for a contact that does not hold it, so a late release does no harm', () => {
    given(contactIdentity).when(release(mine)).thenNothing();
    given(contactIdentity, reserved(theirs)).when(release(mine)).thenNothing();
    given(contactIdentity, reserved(mine), released(mine)).when(release(mine)).thenNothing();
    given(contactIdentity, reserved(mine), reserved(theirs)).when(release(mine)).thenNothing();
  });
});

it('two contacts that repair the same leftover cannot both get it', () => {
  const first = fold(contactIdentity, [reserved(theirs), reserved(mine)]);
  expect(first).toStrictEqual({ holder: mine });
  given(contactIdentity, reserved(theirs), reserved(mine))
    .when(reserve('second', theirs))
    .thenRefused('IDENTITY_HELD');
});
