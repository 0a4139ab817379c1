-- No release used these: the table is younger than the release before.
DROP INDEX payment_periods_by_class, payment_periods_by_originator, payment_periods_by_contact;
