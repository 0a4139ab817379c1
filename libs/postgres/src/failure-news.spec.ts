import { FailureNews } from './failure-news.js';

const away = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
const refused = Object.assign(new Error('sorry, too many clients'), { code: '53300' });

/** Which of so many failures are told, from 1 on. */
function told(news: FailureNews, errors: readonly unknown[]): number[] {
  return errors.flatMap((error, index) => (news.isNews(error) ? [index + 1] : []));
}

describe('Failures of what is tried again', () => {
  it('are told ever more rarely', () => {
    const news = new FailureNews();
    expect(told(news, new Array(40).fill(away))).toEqual([1, 2, 4, 8, 16, 32]);
  });

  it('are told at once when they are of another kind, whatever their message', () => {
    const news = new FailureNews();
    expect(told(news, new Array(5).fill(away))).toEqual([1, 2, 4]);
    const other = (id: number) => Object.assign(new Error(`of ${id}`), { code: '53300' });
    expect(told(news, [refused, other(7), away, refused])).toEqual([1, 3]);
    expect(news.isNews(new TypeError('a defect'))).toBe(true);
    expect(news.isNews(undefined)).toBe(true);
  });

  it('are told from the beginning after a success', () => {
    const news = new FailureNews();
    told(news, new Array(6).fill(away));
    news.over();
    expect(told(news, [away, away, away])).toEqual([1, 2]);
  });
});
