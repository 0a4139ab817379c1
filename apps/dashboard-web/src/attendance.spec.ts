import { Attendance, attendedMs } from './attendance.js';

it('a page is unattended some time after its user has opened or used it', () => {
  let nowMs = 0;
  const page = new EventTarget();
  const attendance = new Attendance(() => nowMs);
  attendance.watch(page);
  expect(attendance.isUnattended).toBe(false);
  for (const input of ['pointerdown', 'keydown', 'wheel', 'focus']) {
    nowMs += attendedMs + 1;
    expect(attendance.isUnattended).toBe(true);
    page.dispatchEvent(new Event(input));
    expect(attendance.isUnattended).toBe(false);
  }
  page.dispatchEvent(new Event('mousemove'));
  nowMs += attendedMs;
  expect(attendance.isUnattended).toBe(false);
});
