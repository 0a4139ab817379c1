import { orderedUuid } from './ordered-uuid.js';

it('has the form of a UUIDv7 and is not made twice', () => {
  const many = Array.from({ length: 1_000 }, () => orderedUuid());
  for (const one of many)
    expect(one).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(new Set(many).size).toBe(many.length);
});

it('begins with its time, so that later ones come later in an index', () => {
  // The example of RFC 9562, appendix A.6.
  expect(orderedUuid(0x017f22e279b0)).toMatch(/^017f22e2-79b0-7/);
  const times = [0, 1, 255, 256, Date.now(), Date.parse('9999-12-31T23:59:59.999Z')];
  const ids = times.map((at) => orderedUuid(at));
  expect([...ids].sort()).toEqual(ids);
});
