import { contactSearchOf } from './party-search.js';

const originatorId = '0f8fad5b-d9cb-469f-a165-70867728950e';

it('reads a search and an originator of an address', () => {
  expect(contactSearchOf({ search: 'Ada', originatorId })).toEqual({ search: 'Ada', originatorId });
});

it('searches for digits, too, which the router reads as a number', () => {
  expect(contactSearchOf({ search: 1842 })).toEqual({ search: '1842' });
});

it('ignores what is no search', () => {
  for (const search of ['', null, true, ['Ada'], { text: 'Ada' }])
    expect(contactSearchOf({ search, originatorId: '1' })).toEqual({});
});
