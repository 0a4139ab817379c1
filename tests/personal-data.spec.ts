/** Where `npm start` keeps personal data. */
import { documentedPlaces, holdingPlaces } from './support/personal-data-places.js';
import { searched } from './support/personal-data-search.js';
import { allInOne } from './support/systems.js';

it('docs/security.md lists the places that are meant to hold personal data', () => {
  expect(documentedPlaces()).toEqual(holdingPlaces.map(({ place, kinds }) => ({ place, kinds })));
});

describe('all in one, embedded', () =>
  searched({
    broker: 'embedded',
    deferred: 'by failing',
    halves: 'even by files',
    start: allInOne,
  }));
