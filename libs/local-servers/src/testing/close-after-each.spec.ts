import { closeAfterEach, closeAll } from './close-after-each.js';

const closed: string[] = [];
const atEnd = closeAfterEach();

it('registers what a test has opened', () => {
  atEnd(() => closed.push('the first'));
  atEnd(() => closed.push('the second'));
  expect(closed).toEqual([]);
});

it('has closed it before the next test, the last first, and once', () => {
  expect(closed).toEqual(['the second', 'the first']);
});

it('closes the rest when one cannot be closed, and reports that', async () => {
  const called: string[] = [];
  const closes = [
    () => called.push('the first'),
    () => Promise.reject(new Error('stuck')),
    () => called.push('the last'),
  ];
  await expect(closeAll(closes)).rejects.toThrow('stuck');
  expect(called).toEqual(['the last', 'the first']);
});
