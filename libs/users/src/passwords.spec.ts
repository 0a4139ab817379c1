import { generatePassword, HashingBusy, passwordRefusal, Passwords } from './passwords.js';

const passwords = new Passwords();

it.each([
  ['x'.repeat(11), false],
  ['x'.repeat(12), true],
  ['x'.repeat(128), true],
  ['x'.repeat(129), false],
  // Characters are counted, not UTF-16 units.
  ['\u{1f511}'.repeat(11), false],
  ['\u{1f511}'.repeat(128), true],
  // No rules of composition.
  ['            ', true],
])('a password is 12 to 128 characters long: %p', (password, isAccepted) => {
  expect(passwordRefusal(password) === null).toBe(isAccepted);
});

it('generates passwords that are accepted, each a different one', () => {
  expect(passwordRefusal(generatePassword())).toBeNull();
  expect(generatePassword()).not.toBe(generatePassword());
});

it('knows the right password from a wrong one', async () => {
  const hash = await passwords.hash('correct horse battery');
  expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  expect(await passwords.check('correct horse battery', hash)).toEqual({
    isRight: true,
    isOutdated: false,
  });
  expect(await passwords.check('correct horse batterx', hash)).toMatchObject({ isRight: false });
});

it('the same letters from another keyboard are the same password', async () => {
  const hash = await passwords.hash('Zo\u00eb and the horse');
  expect(await passwords.check('Zoe\u0308 and the horse', hash)).toMatchObject({ isRight: true });
});

it('without a hash the password is wrong', async () => {
  expect(await passwords.check('correct horse battery', null)).toMatchObject({ isRight: false });
});

it('a hash with other parameters still works, and is outdated', async () => {
  const weak =
    '$argon2id$v=19$m=1024,t=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$h+Jo8mEzrDZG/IcvJbyFWLZOGQiIhyYem3Gf+QLfb/k';
  expect(await passwords.check('correct horse battery', weak)).toEqual({
    isRight: true,
    isOutdated: true,
  });
});

it('refuses a stored hash that is in no known form', async () => {
  await expect(passwords.check('correct horse battery', '$2b$10$abc')).rejects.toThrow(
    'no known form',
  );
});

it('a flood is refused instead of taking memory', async () => {
  const flooded = new Passwords();
  const results = await Promise.allSettled(
    Array.from({ length: 100 }, () => flooded.hash('correct horse battery')),
  );
  const refused = results.filter(({ status }) => status === 'rejected');
  expect(refused).toHaveLength(100 - 34);
  for (const result of refused)
    expect(result).toMatchObject({ reason: expect.any(HashingBusy) as unknown });
  // The turns are free again.
  await flooded.hash('correct horse battery');
}, 60_000);

describe('new passwords', () => {
  const given = 'correct horse battery';
  const counted = (results: readonly PromiseSettledResult<unknown>[]) =>
    results.filter(({ status }) => status === 'fulfilled').length;

  it('are hashed two at once for an organization', async () => {
    const one = new Passwords();
    const asked = () => one.hashNew('organization', given);
    expect(counted(await Promise.allSettled([1, 2, 3, 4].map(asked)))).toBe(2);
    await asked();
  });

  it('leave most of the queue to those who sign in', async () => {
    const one = new Passwords();
    const changes = Array.from({ length: 40 }, (_, n) => one.hashNew(`organization ${n}`, given));
    const settled = Promise.allSettled(changes);
    const signIns = Array.from({ length: 24 }, () => one.check(given, null));
    expect(counted(await Promise.allSettled(signIns))).toBe(24);
    expect(counted(await settled)).toBe(10);
  }, 60_000);
});
