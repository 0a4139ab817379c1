/** Rules that nothing proves in this release, and why. */
const numbered = (prefix, count) =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index + 1}`);

export const open = [
  {
    because: 'this release has no audit log',
    rules: [...numbered('audit', 14), 'command-12', 'variable-28'],
  },
  {
    because: 'a test proves this for ./pis, and none for npm start and npm test',
    rules: ['start-10'],
  },
  {
    because: 'no test starts two of these commands at once while something must be built',
    rules: ['start-6'],
  },
  { because: 'tests cover some combinations, not all of them', rules: ['start-11'] },
  { because: 'it depends on the network and the machine; no test measures it', rules: ['start-9'] },
  { because: 'no test talks TLS or SASL to a broker', rules: ['variable-13'] },
];
