/** Where `npm start` keeps personal data, with a bank of its own that it reaches over SFTP and HTTPS. */
import { documentedPlaces, holdingPlaces } from './support/personal-data-places.js';
import { searched } from './support/personal-data-search.js';
import { startBank } from './support/bank-process.js';
import { allInOne } from './support/systems.js';

it('docs/security.md lists the places that are meant to hold personal data', () => {
  expect(documentedPlaces()).toEqual(holdingPlaces.map(({ place, kinds }) => ({ place, kinds })));
});

describe('all in one, embedded', () =>
  searched({
    broker: 'embedded',
    deferred: 'by failing',
    halves: 'even by files',
    start: async (settings) => {
      const bank = await startBank(settings);
      const system = await allInOne({ ...settings, PIS_BANKS_FILE: bank.banksFile });
      return {
        ...system,
        bankDatabaseUrl: bank.databaseUrl,
        urls: [...system.urls, bank.url],
        logs: () => `${system.logs()}\n${bank.process.stderr()}`,
        stdout: () => `${system.stdout()}\n${bank.process.stdout()}`,
        stop: async () => {
          await system.stop();
          await bank.stop();
        },
      };
    },
  }));
