import { EventEmitter } from 'node:events';
import { UnreadAnswers } from './unread-answers.js';

const large = 'x'.repeat(1_000_000);
const open = () => Object.assign(new EventEmitter(), { closed: false });
const isLimited = expect.objectContaining({ code: 'RATE_LIMITED' }) as Error;

it('an organization has a few large answers that are not read, and others have theirs', () => {
  const unread = new UnreadAnswers();
  const answers = Array.from({ length: 8 }, open);
  for (const raw of answers) unread.sending('a', large, raw);
  expect(() => unread.sending('a', large, open())).toThrow(isLimited);
  unread.sending('b', large, open());
  answers[0]?.emit('close');
  unread.sending('a', large, open());
  expect(() => unread.sending('a', large, open())).toThrow(isLimited);
});

it('counts neither short answers, nor shared bytes, nor answers whose client has gone', () => {
  const unread = new UnreadAnswers();
  const gone = () => Object.assign(open(), { closed: true });
  for (let times = 0; times < 100; times += 1) {
    unread.sending('a', 'x'.repeat(1_000), open());
    unread.sending('a', Buffer.alloc(1_000_000), open());
    unread.sending('a', large, gone());
  }
  unread.sending('a', large, open());
});
