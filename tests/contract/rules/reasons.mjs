/** Why some rules have no contract test, and the one test that many others share. */

export const dashboard = 'this release has no dashboard and no link pages';
export const links = `payment links are a dashboard feature: ${dashboard}`;
export const statements = 'this release generates no statements';
export const audit = 'this release has no audit log';
export const erasure = 'this release erases nobody';
export const exports = 'this release has no exports';
export const fees = 'this release collects no fees: there is nothing but originator payments';

export const matrix = {
  file: 'libs/domain/src/payment/payment-matrix.spec.ts',
  title: '%s, when %s, becomes %s',
};
