import { Activity } from './activity.js';

describe('the activity of an executor', () => {
  it('lasts for a while after the last payment and reports its beginning once', () => {
    let nowMs = 0;
    let changes = 0;
    const activity = new Activity(
      60_000,
      () => (changes += 1),
      () => nowMs,
    );
    expect(activity.isBusy).toBe(false);
    activity.noticed();
    nowMs = 59_000;
    activity.noticed();
    nowMs = 118_999;
    expect([activity.isBusy, changes]).toEqual([true, 1]);
    nowMs = 119_000;
    expect(activity.isBusy).toBe(false);
    activity.noticed();
    expect([activity.isBusy, changes]).toEqual([true, 2]);
  });
});
